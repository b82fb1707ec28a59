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
class Corrections:
    """Of a source: by position and bin, what is added to its log-odds, and how many drafts say so."""

    log_odds: NDArray[np.float64] = field(default_factory=lambda: np.zeros((POSITIONS, len(BINS) + 1)))
    drafts: NDArray[np.float64] = field(default_factory=lambda: np.zeros((POSITIONS, len(BINS) + 1)))


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
        self._tables: dict[str, Corrections] = {}
        self._requests: dict[str, OwnOffset] = {}
        self.reliability = Reliability()

    def chances(
        self, request_ids: Sequence[str], sources: Sequence[str], stated: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Chance of each draft to be kept if those before it are, as `stated`.

        Args:
            request_ids: whose.
            sources: which drafter's, for each.
            stated: float64 [requests, k], what it says itself.

        """
        tables = [self._table(source) for source in sources]
        pooled = np.stack([table.log_odds for table in tables]) if len(set(sources)) > 1 else tables[0].log_odds[None]
        bins, positions = np.searchsorted(BINS, stated, side="right"), _positions(stated.shape[1])
        of_table = np.arange(len(stated))[:, None] if len(pooled) > 1 else 0
        own = np.array([self._of(request_id).log_odds for request_id in request_ids])[:, None]
        return _clip(1 / (1 + np.exp(-(_log_odds(stated) + pooled[of_table, positions, bins] + own))))

    def observe(
        self,
        request_id: str,
        source: str,
        stated: NDArray[np.float64],
        chance: NDArray[np.float64],
        right: Sequence[bool],
    ) -> None:
        """Learn the fate of a draft's first tokens: all of them right, except that the last may be wrong.

        Args:
            request_id, source: as in `chances`.
            stated, chance: float64 [k], what the drafter said of it, and what `chances` made of that.
            right: at most k, of each token whether it was what was committed.

        """
        table, own = self._table(source), self._of(request_id)
        bins = np.searchsorted(BINS, stated[: len(right)], side="right").tolist()
        for place, (bin_, expected, is_right) in enumerate(zip(bins, chance.tolist(), right, strict=False)):
            at, error = (min(place, POSITIONS - 1), bin_), is_right - expected
            self.reliability.add(expected, is_right)
            table.drafts[at] += 1
            table.log_odds[at] += error * 4 / (POOLED_PRIOR + min(table.drafts[at], 500))
            own.log_odds += error * REQUEST_RATE / min(1 + own.drafts / 8, 4)
            own.drafts += 1

    def forget(self, request_ids: Collection[str]) -> None:
        """Requests have ended."""
        for request_id in request_ids:
            self._requests.pop(request_id, None)

    def _of(self, request_id: str) -> OwnOffset:
        return self._requests.setdefault(request_id, OwnOffset())

    def _table(self, source: str) -> Corrections:
        return self._tables.setdefault(source, Corrections())


def _positions(count: int) -> NDArray[np.int64]:
    """Row of the corrections for each place in a draft."""
    positions: NDArray[np.int64] = np.minimum(np.arange(count), POSITIONS - 1)
    return positions


def _log_odds(chance: NDArray[np.float64]) -> NDArray[np.float64]:
    clipped = _clip(chance)
    return np.log(clipped / (1 - clipped))


def _clip(chance: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(chance, 1 - CERTAIN, CERTAIN)
