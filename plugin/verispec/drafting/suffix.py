"""Suffix lookup: what followed when a text ended like this before?

The texts are the request's own history and the recent answers to others of its tenant. The draft is what most followed
earlier occurrences of the history's end, the longer ones counting more (the idea of SuffixDecoding, 2411.04975). It is
a function of these texts: a point mass, with no q.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verispec.drafting.continuation import Continuation, continue_history
from verispec.drafting.match_index import MatchIndex
from verispec.drafting.proposal import DrafterError, DraftRequest, Proposal
from verispec.drafting.recent_answers import RecentAnswers

NO_DRAWS = np.empty(0)


@dataclass
class History:
    """What is kept for a request: its tokens, indexed, and where its answer begins."""

    index: MatchIndex
    tenant: str | None
    answer_begins: int


class SuffixDrafter:
    """Drafts by copying from the request's own history, and from recent answers of its tenant.

    Args:
        min_match: shortest occurrence that is trusted, in tokens.
        max_match: longest occurrence that is measured.
        max_candidates: earlier occurrences that are compared, of the history and of the recent answers each; where
            there are more, some that agree with the history for long, and the newest.
        memory_tokens: of recent answers, kept for each tenant; 0: a request copies from itself only.
        max_tenants: whose answers are kept. All memory together is at most 40 bytes × memory_tokens × max_tenants.

    Raises:
        DrafterError: a setting out of range.

    """

    def __init__(
        self,
        min_match: int = 1,
        max_match: int = 32,
        max_candidates: int = 32,
        memory_tokens: int = 65_536,
        max_tenants: int = 16,
    ) -> None:
        _check_at_least(1, min_match=min_match, max_candidates=max_candidates, max_tenants=max_tenants)
        _check_at_least(min_match, max_match=max_match)
        _check_at_least(0, memory_tokens=memory_tokens)
        self._min_match = min_match
        self._max_match = max_match
        self._max_candidates = max_candidates
        self._answers = RecentAnswers(min_match, memory_tokens, max_tenants)
        self._histories: dict[str, History] = {}
        self._room = Continuation.empty(1, max_candidates)
        self._propose(DraftRequest("", np.zeros(1, np.int32), 1))  # compiles
        self._histories.clear()

    def propose(self, requests: Sequence[DraftRequest]) -> list[Proposal]:
        """A copy of what followed the best matches, for each request that has any."""
        return [self._propose(request) for request in requests]

    def forget(self, request_ids: Collection[str]) -> None:
        """Requests have ended: their answers become recent ones."""
        for request_id in request_ids:
            history = self._histories.pop(request_id, None)
            if history is not None:
                self._answers.add(history.tenant, history.index.tokens[history.answer_begins :])

    def _propose(self, request: DraftRequest) -> Proposal:
        drafted = self._continue(request, NO_DRAWS)
        return Proposal(self._room.token_ids[:drafted].tolist(), acceptance=self._room.chance[:drafted].copy())

    def _continue(self, request: DraftRequest, uniforms: NDArray[np.float64], sharpness: float = 1.0) -> int:
        """Fill the room with a draft; its length."""
        if len(self._room.token_ids) < request.max_tokens:
            self._room = Continuation.empty(request.max_tokens, self._max_candidates)
        drafted: int = continue_history(
            self._history(request).index.chains,
            self._answers.of(request.tenant).chains,
            self._max_match,
            self._max_candidates,
            sharpness,
            uniforms,
            request.max_tokens,
            self._room,
        )
        return drafted

    def _history(self, request: DraftRequest) -> History:
        history = self._histories.get(request.request_id)
        if history is None or len(history.index) > len(request.token_ids):
            # The first draft is asked for when the first token of the answer is there.
            history = History(MatchIndex(self._min_match), request.tenant, max(0, len(request.token_ids) - 1))
            self._histories[request.request_id] = history
        history.index.extend(request.token_ids[len(history.index) :])
        return history


def _check_at_least(least: int, **options: int) -> None:
    for name, value in options.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise DrafterError(f"{name}: {value!r} is no whole number of at least {least}")
