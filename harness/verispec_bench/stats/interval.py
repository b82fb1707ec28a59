"""A 95% interval of a ratio of two arms that were run in pairs of runs, over few runs of many prompts each.

Two views, of which the wider counts:

- a hierarchical bootstrap: runs are drawn, then prompts of each, always in pairs. It knows the prompts well, and the
  shape of the statistic, but with n runs it shows only (n − 1) / n of the variance between runs, and Gauss's tails;
- a delete-one-run jackknife with Student's t of n − 1 degrees of freedom. It takes the run as the independent unit,
  knows that few were seen, and covers whatever the shares of run and prompt noise are (tested by simulation).

All arithmetic is on the logarithm of the ratio.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student_t

RESAMPLES = 2000
MIN_RUNS, MIN_PAIRS = 2, 6
"""Fewer say nothing of their spread: no interval is given then."""
LEVEL = 0.95
Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Statistic = Callable[[Rows], Floats]
"""log(arm / baseline) over rows of pairs, [..., pairs] → [...]; NaN where it is undefined."""


@dataclass(frozen=True)
class Ratio:
    """arm / baseline with its 95% interval; None where it cannot be computed, no interval where too little was run."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


def interval(sizes: Sequence[int], statistic: Statistic, seed: int = 0) -> Ratio:
    """The ratio over all pairs, with its interval.

    Args:
        sizes: pairs of each run; pairs are numbered through, run by run.
        statistic: computed on any selection of them.
        seed: of the bootstrap.

    """
    runs = [rows for rows in np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1]) if len(rows)]
    if not runs:
        return Ratio()
    point = float(statistic(np.concatenate(runs)))
    if not np.isfinite(point):
        return Ratio()
    if len(runs) < MIN_RUNS or sum(sizes) < MIN_PAIRS:
        return Ratio(float(np.exp(point)))
    resampled = statistic(_resampled(runs, np.random.default_rng(seed)))
    resampled = resampled[np.isfinite(resampled)]
    spread = _jackknife_spread(runs, statistic)
    if len(resampled) < RESAMPLES / 2 or spread is None:
        return Ratio(float(np.exp(point)))
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Ratio(*(float(np.exp(x)) for x in (point, min(low, point - spread), max(high, point + spread))))


def _jackknife_spread(runs: Sequence[Rows], statistic: Statistic) -> float | None:
    """Half the width of the interval that takes each run as one observation; None if a run alone defines the value."""
    n = len(runs)
    without = np.array([float(statistic(np.concatenate([*runs[:i], *runs[i + 1 :]]))) for i in range(n)])
    if not np.isfinite(without).all():
        return None
    variance = (n - 1) / n * np.sum((without - without.mean()) ** 2)
    return float(student_t.ppf((1 + LEVEL) / 2, n - 1) * np.sqrt(variance))


def _resampled(runs: Sequence[Rows], rng: np.random.Generator) -> Rows:
    """Rows of the bootstrap samples, [resamples, pairs]: runs with replacement, then prompts of each likewise.

    Runs that lost pairs to failures are drawn as often as whole ones, and give as many rows.
    """
    sizes = np.array([len(rows) for rows in runs])
    starts = np.array([rows[0] for rows in runs])
    drawn = rng.integers(len(runs), size=(RESAMPLES, len(runs)))
    each = round(sizes.sum() / len(runs))
    within = rng.random((RESAMPLES, len(runs), each)) * sizes[drawn][..., None]
    rows = starts[drawn][..., None] + within.astype(np.int64)
    return np.asarray(rows.reshape(RESAMPLES, -1))
