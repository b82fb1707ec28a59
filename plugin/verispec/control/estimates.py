"""How likely is a draft to be kept? What a drafter says of it, corrected by what became of its drafts before.

Chance = sigmoid(what drafts of that kind had, pooled over all requests + what this request has beyond that). Both are
learned by stochastic gradient steps from each draft whose fate is known, submitted or not: a draft is right if it is
what was committed, and that is seen even where it was held back.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import exp

import numpy as np
from numpy.typing import NDArray

from verispec.compiled import compiled
from verispec.control.request_rows import RequestRows

BINS = np.array([0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
"""Edges between which a drafter's estimates are corrected together."""
POSITIONS = 4
"""Positions in a draft that are corrected apart; those beyond count as the last."""
POOLED_PRIOR, POOLED_MOST = 10.0, 500.0
"""Drafts that the drafter's own estimate is worth, and that all of the past is worth at most."""
REQUEST_RATE = 0.2
"""Step by which a request moves away from the others, at its first draft; it falls to a quarter."""
CERTAIN = 0.98
RELIABILITY_BINS = 10


LOG_ODDS, DRAFTS = range(2)
"""What is kept of a source, by position and bin, and of a request: what is added to the drafter's log-odds, and how
many drafts say so."""


@dataclass
class Reliability:
    """Of drafts with known fate, by tenths of their estimated chance: how many, what was expected, what came."""

    drafts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(RELIABILITY_BINS, np.int64))
    expected: NDArray[np.float64] = field(default_factory=lambda: np.zeros(RELIABILITY_BINS))
    right: NDArray[np.int64] = field(default_factory=lambda: np.zeros(RELIABILITY_BINS, np.int64))


class AcceptanceEstimates:
    """Learns, per source of drafts and per request, how far a drafter's own estimates are to be trusted."""

    def __init__(self) -> None:
        self._sources: dict[str, int] = {}
        self._tables = np.zeros((0, 2, POSITIONS, len(BINS) + 1))
        self._requests = RequestRows(columns=2)
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
        tables, rows = self._of(sources), self._requests.of(request_ids)
        chances: NDArray[np.float64] = _chances(stated, self._tables, tables, self._requests.values[rows, LOG_ODDS])
        return chances

    def observe(
        self,
        request_ids: Sequence[str],
        sources: Sequence[str],
        stated: NDArray[np.float64],
        chances: NDArray[np.float64],
        fates: NDArray[np.int64],
    ) -> None:
        """Learn the fate of the first tokens of drafts.

        Args:
            request_ids, sources: as in `chances`.
            stated, chances: float64 [requests, k], what the drafter said, and what `chances` made of that.
            fates: int64 [requests, 2], how many of each draft's first tokens were what was committed, and of how many
                that is known: as many, or one more, which was wrong; at most k.

        """
        tables, rows = self._of(sources), self._requests.of(request_ids)
        curve = self.reliability
        _observe(
            stated, chances, fates, self._tables, tables, self._requests.values, rows,
            curve.drafts, curve.expected, curve.right,
        )  # fmt: skip

    def forget(self, request_ids: Collection[str]) -> None:
        """Requests have ended, or are no longer drafted for."""
        self._requests.forget(request_ids)

    def _of(self, sources: Sequence[str]) -> NDArray[np.int64]:
        """Tables of these sources, int64 [requests]; new ones get theirs."""
        for source in set(sources) - self._sources.keys():
            self._sources[source] = len(self._sources)
            self._tables = np.concatenate([self._tables, np.zeros((1, *self._tables.shape[1:]))])
        return np.array([self._sources[source] for source in sources], dtype=np.int64)


@compiled
def _chances(
    stated: NDArray[np.float64],
    tables: NDArray[np.float64],
    of_source: NDArray[np.int64],
    own_log_odds: NDArray[np.float64],
) -> NDArray[np.float64]:
    chances = np.empty_like(stated)
    for row in range(len(stated)):
        pooled = tables[of_source[row], LOG_ODDS]
        for place in range(stated.shape[1]):
            said = stated[row, place]
            correction = pooled[min(place, POSITIONS - 1), np.searchsorted(BINS, said, side="right")]
            said = _clip(said)
            chances[row, place] = _clip(1 / (1 + (1 - said) / said * exp(-correction - own_log_odds[row])))
    return chances


@compiled
def _observe(
    stated: NDArray[np.float64],
    chances: NDArray[np.float64],
    fates: NDArray[np.int64],
    tables: NDArray[np.float64],
    of_source: NDArray[np.int64],
    requests: NDArray[np.float64],
    of_request: NDArray[np.int64],
    curve_drafts: NDArray[np.int64],
    curve_expected: NDArray[np.float64],
    curve_right: NDArray[np.int64],
) -> None:
    for row in range(len(fates)):
        table, own = tables[of_source[row]], requests[of_request[row]]
        right, known = fates[row]
        for place in range(known):
            chance = chances[row, place]
            error = (place < right) - chance
            position, bin_ = min(place, POSITIONS - 1), np.searchsorted(BINS, stated[row, place], side="right")
            table[DRAFTS, position, bin_] += 1
            trust = POOLED_PRIOR + min(table[DRAFTS, position, bin_], POOLED_MOST)
            table[LOG_ODDS, position, bin_] += error * 4 / trust
            own[LOG_ODDS] += error * REQUEST_RATE / min(1 + own[DRAFTS] / 8, 4)
            own[DRAFTS] += 1
            tenth = min(int(chance * RELIABILITY_BINS), RELIABILITY_BINS - 1)
            curve_drafts[tenth] += 1
            curve_expected[tenth] += chance
            curve_right[tenth] += place < right


@compiled
def _clip(chance: float) -> float:
    return min(max(chance, 1 - CERTAIN), CERTAIN)
