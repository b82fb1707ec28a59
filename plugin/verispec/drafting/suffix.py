"""Prompt lookup: what followed the last time the history ended like this?

The draft copies the tokens that followed the longest earlier occurrence of the history's end. The longer that
occurrence, the more is drafted (the idea of SuffixDecoding, 2411.04975), so that little is wasted on traffic that
repeats nothing. A draft is a function of the history: a point mass, with no q.
"""

from collections.abc import Collection, Sequence

from verispec.drafting.match_index import Match, MatchIndex
from verispec.drafting.proposal import DrafterError, DraftRequest, Proposal


class SuffixDrafter:
    """Drafts by copying from the request's own history.

    Args:
        min_match: shortest occurrence that is trusted, in tokens.
        max_match: longest occurrence that is measured.
        tokens_per_match: drafted tokens for each token of the occurrence.
        max_candidates: earlier occurrences that are compared.

    Raises:
        DrafterError: a setting out of range.

    """

    def __init__(
        self, min_match: int = 3, max_match: int = 32, tokens_per_match: float = 1.0, max_candidates: int = 16
    ) -> None:
        if not 1 <= min_match <= max_match:
            raise DrafterError(f"min_match: {min_match} is outside [1, max_match = {max_match}]")
        if tokens_per_match <= 0:
            raise DrafterError(f"tokens_per_match: {tokens_per_match} must be positive")
        if max_candidates < 1:
            raise DrafterError(f"max_candidates: {max_candidates} must be at least 1")
        self._index_settings = (min_match, max_match, max_candidates)
        self._tokens_per_match = tokens_per_match
        self._indices: dict[str, MatchIndex] = {}

    def propose(self, requests: Sequence[DraftRequest]) -> list[Proposal]:
        """A copy of what followed the best match, for each request that has one."""
        return [self._propose(request) for request in requests]

    def forget(self, request_ids: Collection[str]) -> None:
        """Drop the indices of ended requests."""
        for request_id in request_ids:
            self._indices.pop(request_id, None)

    def _propose(self, request: DraftRequest) -> Proposal:
        index = self._indices.get(request.request_id)
        if index is None or len(index) > len(request.token_ids):
            index = self._indices[request.request_id] = MatchIndex(*self._index_settings)
        index.extend(request.token_ids[len(index) :])
        match = index.longest_match()
        if match is None:
            return Proposal()
        wanted = max(1, int(match.length * self._tokens_per_match))
        return Proposal(_copy(index.tokens, match, min(wanted, request.max_tokens)))


def _copy(tokens: list[int], match: Match, count: int) -> list[int]:
    """The tokens after the match; where the history ends, the copy goes on into itself (a period of match.end)."""
    period = len(tokens) - match.end
    return [tokens[match.end + i % period] for i in range(count)]
