"""How likely is a draft to be kept? What a drafter says of it, corrected by what became of its drafts before.

Chance = sigmoid(what drafts of that kind had, pooled over all requests + what this request has beyond that). Both are
learned by stochastic gradient steps from each draft whose fate is known, submitted or not: a draft is right if it is
what was committed, and that is seen even where it was held back.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

BINS = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
"""Edges between which a drafter's estimates are corrected together."""
POSITIONS = 4
"""Positions in a draft that are corrected apart; those beyond count as the last."""
POOLED_PRIOR = 10.0
"""Drafts that the drafter's own estimate is worth."""
REQUEST_RATE = 0.2
"""Step by which a request moves away from the others, at its first draft; it falls to a quarter."""
CERTAIN = 0.98
RELIABILITY_BINS = 10


@dataclass
class OwnOffset:
    """What a request has beyond the others, in log-odds, and how many drafts say so."""

    log_odds: float = 0.0
    drafts: int = 0


@dataclass
class Reliability:
    """Of drafts with known fate, by tenths of their estimated chance: how many, what was expected, what came."""

    drafts: list[int] = field(default_factory=lambda: [0] * RELIABILITY_BINS)
    expected: list[float] = field(default_factory=lambda: [0.0] * RELIABILITY_BINS)
    right: list[int] = field(default_factory=lambda: [0] * RELIABILITY_BINS)

    def add(self, chance: float, right: bool) -> None:
        """A draft whose fate is known."""
        tenth = min(int(chance * RELIABILITY_BINS), RELIABILITY_BINS - 1)
        self.drafts[tenth] += 1
        self.expected[tenth] += chance
        self.right[tenth] += right


class AcceptanceEstimates:
    """Learns, per source of drafts and per request, how far a drafter's own estimates are to be trusted."""

    def __init__(self) -> None:
        self._pooled: dict[str, NDArray[np.float64]] = {}
        self._counts: dict[str, NDArray[np.float64]] = {}
        self._requests: dict[str, OwnOffset] = {}
        self.reliability = Reliability()

    def chance(self, request_id: str, source: str, stated: NDArray[np.float64]) -> NDArray[np.float64]:
        """Chance of each draft of a request to be kept if those before it are.

        Args:
            request_id: whose.
            source: which drafter's.
            stated: float64 [k], what it says itself.

        """
        bins, positions = _cells(stated)
        pooled = self._table(source)[0][positions, bins]
        return _clip(_sigmoid(_log_odds(stated) + pooled + self._of(request_id).log_odds))

    def observe(self, request_id: str, source: str, stated: NDArray[np.float64], right: Sequence[bool]) -> None:
        """Learn the fate of a draft's first tokens: all of them right, except that the last may be wrong.

        Args:
            right: at most len(stated), of each token whether it was what was committed.

        """
        if not right:
            return
        stated = stated[: len(right)]
        chance = self.chance(request_id, source, stated)
        bins, positions = _cells(stated)
        correction, counts = self._table(source)
        own = self._of(request_id)
        for i, is_right in enumerate(right):
            self.reliability.add(float(chance[i]), is_right)
            error = is_right - chance[i]
            at = positions[i], bins[i]
            counts[at] += 1
            correction[at] += error * 4 / (POOLED_PRIOR + min(counts[at], 500))
            own.log_odds += error * REQUEST_RATE / min(1 + own.drafts / 8, 4)
            own.drafts += 1

    def forget(self, request_ids: Collection[str]) -> None:
        """Requests have ended."""
        for request_id in request_ids:
            self._requests.pop(request_id, None)

    def _of(self, request_id: str) -> OwnOffset:
        return self._requests.setdefault(request_id, OwnOffset())

    def _table(self, source: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if source not in self._pooled:
            shape = POSITIONS, len(BINS) + 1
            self._pooled[source], self._counts[source] = np.zeros(shape), np.zeros(shape)
        return self._pooled[source], self._counts[source]


def _cells(stated: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Bin and position of each estimate."""
    return np.searchsorted(BINS, stated, side="right"), np.minimum(np.arange(len(stated)), POSITIONS - 1)


def _log_odds(chance: NDArray[np.float64]) -> NDArray[np.float64]:
    clipped = _clip(chance)
    return np.log(clipped / (1 - clipped))


def _sigmoid(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-log_odds))


def _clip(chance: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(chance, 1 - CERTAIN, CERTAIN)
