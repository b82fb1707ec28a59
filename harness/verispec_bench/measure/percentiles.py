"""Percentiles that are None where there is too little to say, and how sure they are."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

LEVEL = 0.95


def requests_needed(which: float) -> int:
    """As many as it takes for one to lie beyond the percentile: p95 20, p99 100; the median is never withheld."""
    beyond = min(which, 100 - which)
    return math.ceil(round(100 / beyond, 6)) if 0 < beyond < 50 else 1


MIN_FOR_P95 = requests_needed(95)


def percentile(
    values: Sequence[float] | NDArray[np.float64], which: float, requests: int | None = None
) -> float | None:
    """The percentile; None for p95 of fewer than 20 requests, p99 of fewer than 100, anything of none.

    Args:
        values: observations.
        which: 0 to 100.
        requests: how many requests the values come from; default: each from its own.

    """
    enough = (len(values) if requests is None else requests) >= requests_needed(which)
    return float(np.percentile(values, which)) if enough and len(values) else None


def interval(ordered: NDArray[np.float64], which: float) -> tuple[float, float] | tuple[None, None]:
    """95% interval of a percentile, whatever the distribution: two order statistics (David and Nagaraja, 2003, 7.1).

    The number of observations below the true percentile is binomial; each bound is missed with at most 2.5%. None
    where no observation is far enough out: below 6 for the median, 72 for p95, 368 for p99.

    Args:
        ordered: independent observations, ascending.
        which: 0 to 100.

    """
    n, below = len(ordered), which / 100
    tail = (1 - LEVEL) / 2
    low, high = (int(binom.ppf(q, n, below)) for q in (tail, 1 - tail)) if n else (0, 0)
    return (float(ordered[low - 1]), float(ordered[high])) if low >= 1 and high < n else (None, None)
