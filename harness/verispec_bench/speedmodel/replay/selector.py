"""A causal choice of drafter and window: by how long the text at hand repeats, known before anything is drafted."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verispec_bench.speedmodel.replay.bill import Bill
from verispec_bench.speedmodel.replay.plan import Plan
from verispec_bench.speedmodel.replay.trace import Trace

EDGES = (1, 2, 3, 4, 5, 6, 8, 12, 20)
"""Match lengths between which steps are taken to be alike."""
WINDOWS = np.array([1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 21])
"""Tokens of a step, its bonus included, that may be verified; of one token nothing is drafted."""
PRIOR = 20.0
"""Positions that the mean over all match lengths is worth."""


Matched = tuple[Trace, NDArray[np.int64]]
"""A trace and its match lengths."""


@dataclass(frozen=True)
class Selector:
    """What promises most tokens per second, by the length of the match.

    Attributes:
        edges: match lengths at which another choice begins; with none it is the same everywhere, and always drafts.
        drafter: name of the one to ask, len(edges) + 1 of them.
        window: int64 [len(edges) + 1], tokens in the target's pass.

    """

    edges: tuple[int, ...]
    drafter: list[str]
    window: NDArray[np.int64]

    @classmethod
    def learned(
        cls,
        known: Sequence[Matched],
        drafters: Sequence[str],
        bill: Bill,
        batch: int,
        edges: tuple[int, ...] = EDGES,
    ) -> "Selector":
        """From traces that are not those to be judged."""
        bins = np.searchsorted(edges, np.concatenate([match for _, match in known]), side="right")
        kv = batch * float(np.mean([trace.prompt_tokens + trace.tokens / 2 for trace, _ in known]))
        windows = WINDOWS if edges else WINDOWS[1:]
        in_pass = batch * windows.astype(np.float64)
        verify_s = bill.target.seconds(kv, in_pass)
        speeds = []
        for name in drafters:
            lengths = np.concatenate([trace.step_lengths[name] for trace, _ in known])
            draft_s = np.where(windows > 1, bill.drafters[name].seconds(kv, in_pass, verify_s), 0.0)
            kept = _mean_kept(lengths, bins, windows, len(edges) + 1)
            speeds.append(kept / (verify_s + draft_s + bill.overhead_s))
        best = np.stack(speeds, axis=1).reshape(len(edges) + 1, -1).argmax(axis=1)
        names = [drafters[row] for row in best // len(windows)]
        return cls(edges, names, windows[best % len(windows)])

    def plan(self, trace: Trace, match: NDArray[np.int64]) -> Plan:
        """For a trace with these match lengths."""
        bins = np.searchsorted(self.edges, match, side="right")
        window = self.window[bins]
        asked = {name: np.array([name == each for each in self.drafter])[bins] for name in trace.step_lengths}
        lengths = sum(trace.step_lengths[name] * rows for name, rows in asked.items())
        billed = {name: rows & (window > 1) for name, rows in asked.items()}
        return Plan(np.minimum(lengths, window), window, billed)


def _mean_kept(
    lengths: NDArray[np.int64], bins: NDArray[np.int64], windows: NDArray[np.int64], size: int
) -> NDArray[np.float64]:
    """What steps of each window commit on average, float64 [size, windows]."""
    counts = np.bincount(bins, minlength=size)[:, None]
    kept = [np.bincount(bins, weights=np.minimum(lengths, window), minlength=size) for window in windows]
    sums = np.stack(kept, axis=1)
    mean: NDArray[np.float64] = (sums + PRIOR * sums.sum(axis=0) / counts.sum()) / (counts + PRIOR)
    return mean
