"""A drafter of your own: drafts the token that most often followed the last one in the request so far.

Serve with it: put this folder on PYTHONPATH, and {"verispec": {"drafter": "bigram_drafter.BigramDrafter"}} in
--additional-config. Whatever it drafts, the answers are the target's: only how many drafts are kept depends on it.
"""

from collections import Counter, defaultdict
from itertools import pairwise

from verispec.drafting import DraftRequest, Proposal


class BigramDrafter:
    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._followers: dict[str, defaultdict[int, Counter[int]]] = {}

    def propose(self, requests: list[DraftRequest]) -> list[Proposal]:
        return [self._propose(request) for request in requests]

    def forget(self, request_ids: set[str]) -> None:
        for request_id in request_ids:
            self._seen.pop(request_id, None)
            self._followers.pop(request_id, None)

    def _propose(self, request: DraftRequest) -> Proposal:
        followers = self._followers.setdefault(request.request_id, defaultdict(Counter))
        begin = max(0, self._seen.get(request.request_id, 0) - 1)
        tokens = request.token_ids[begin:].tolist()
        for token, following in pairwise(tokens):
            followers[token][following] += 1
        self._seen[request.request_id] = len(request.token_ids)

        draft, chances, last = [], [], tokens[-1]
        while len(draft) < request.max_tokens and followers[last]:
            (last, count), total = followers[last].most_common(1)[0], followers[last].total()
            draft.append(last)
            chances.append(count / (total + 1))  # the controller learns how far to trust this
        return Proposal(draft, acceptance=chances)
