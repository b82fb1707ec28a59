"""Several drafters, of which each request takes the one that has served it best.

Every member drafts for every request. What comes then is held against what each had drafted, whichever was taken: the
choice learns from all of them, and looks only at what has been.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from verispec.drafting.proposal import Drafter, DrafterError, DraftRequest, Proposal
from verispec.drafting.registry import make_drafter

MEMORY = 0.8
"""Weight of what was known of a member, at each further draft."""


@dataclass
class Record:
    """What a member has done for a request: its latest draft, and right and expected tokens, older ones less.

    A request begins with one token that was right and expected.
    """

    length: int
    draft: Sequence[int]
    expected: float
    right: float = 1.0
    hoped: float = 1.0

    @property
    def trust(self) -> float:
        """How many tokens are right for each that is expected."""
        return self.right / self.hoped


class CombinedDrafter:
    """Picks a member for each request by the tokens that it expects to be kept, times how far that was right so far.

    Args:
        members: drafters by name, {"suffix": {}, "ngram": {"n": 2}}, with their options.

    Raises:
        DrafterError: fewer than two, or one that cannot be used.

    """

    def __init__(self, members: Mapping[str, Mapping[str, Any]]) -> None:
        if len(members) < 2:
            raise DrafterError(f"members: {len(members)} given, needs at least two to choose between")
        self._members: dict[str, Drafter] = {name: make_drafter(name, options) for name, options in members.items()}
        self._records: dict[str, dict[str, Record]] = {}

    def propose(self, requests: Sequence[DraftRequest]) -> list[Proposal]:
        """For each request the proposal of the member that promises most."""
        by_member = {name: member.propose(requests) for name, member in self._members.items()}
        return [
            self._choose(request, {name: proposals[row] for name, proposals in by_member.items()})
            for row, request in enumerate(requests)
        ]

    def forget(self, request_ids: Collection[str]) -> None:
        """Requests have ended."""
        for request_id in request_ids:
            self._records.pop(request_id, None)
        for member in self._members.values():
            member.forget(request_ids)

    def _choose(self, request: DraftRequest, proposals: Mapping[str, Proposal]) -> Proposal:
        before, length = self._records.get(request.request_id, {}), len(request.token_ids)
        records = self._records[request.request_id] = {}
        for name, proposal in proposals.items():
            expected = expected_kept(proposal, request.max_tokens)
            record = records[name] = Record(length, proposal.token_ids, expected)
            if (earlier := before.get(name)) is not None and earlier.length <= length:
                came = request.token_ids[earlier.length :]
                record.right = MEMORY * earlier.right + matching(earlier.draft, came)
                # No more can have been right than came.
                record.hoped = MEMORY * earlier.hoped + min(earlier.expected, len(came))
        best = max(proposals, key=lambda name: records[name].expected * records[name].trust)
        source = proposals[best].source
        return replace(proposals[best], source=f"{best}/{source}" if source else best)


def expected_kept(proposal: Proposal, max_tokens: int) -> float:
    """How many tokens of a draft its drafter expects to be kept; without an idea, half at each position.

    A function of the history: how long a drawn draft has become must not decide whether it is taken.
    """
    if proposal.acceptance is not None:
        return float(np.cumprod(proposal.acceptance).sum())
    return 1.0 - 0.5 ** (len(proposal.token_ids) if proposal.probs is None else max_tokens)


def matching(draft: Sequence[int], came: Sequence[int] | np.ndarray) -> int:
    """How many tokens at the beginning of a draft are what came."""
    count = 0
    for drafted, token in zip(draft, came, strict=False):
        if drafted != token:
            break
        count += 1
    return count
