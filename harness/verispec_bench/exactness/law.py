"""The two-sample test of a law, and a bound on how far two laws can be apart.

Tested is the law of the *binned* tokens (bins.py) at the given prompts and first positions, averaged over the prompts,
and nothing more: laws that differ only inside a bin, or elsewhere, are not told apart.

The positions of one completion depend on each other, so completions, not tokens, are the independent observations:
each is a vector of bin shares, and covariances are those of the vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]
ONE_SIDED_95 = 1.6449
"""Quantile of the normal distribution."""
_NEGLIGIBLE = 1e-9
"""Eigenvalues of a covariance below this share of the largest are rounding."""


@dataclass(frozen=True)
class LawTest:
    """Two samples compared.

    Attributes:
        tv: total variation distance of the two samples' bin frequencies.
        tv_floor: what is to be expected of it where both laws are the same.
        tv_upper: upper 95% bound of the distance of the two *laws*.
        tv_error: the largest standard error of the frequency difference of any set of bins.
        statistic, degrees_of_freedom: Wald's χ² of the differences.
        p_value: chance of such a statistic where both laws are the same.

    """

    tv: float
    tv_floor: float
    tv_upper: float
    tv_error: float
    statistic: float
    degrees_of_freedom: int
    p_value: float

    def size_factor(self, max_tv: float) -> float:
        """How many times as many completions let an exact arm pass `tv_upper <= max_tv` with probability 0.95.

        The sampled distance of an exact arm exceeds its floor by more than 1.64 standard errors in less than 5% of
        cases, the bound adds as much again, and all of it shrinks with the root of the number of completions.
        """
        return ((self.tv_floor + 2 * ONE_SIDED_95 * self.tv_error) / max_tv) ** 2


def compare_laws(baseline: Sequence[Floats], arm: Sequence[Floats]) -> LawTest:
    """Compare two samples.

    The distance of two laws is the largest difference of probability over all sets of bins. For the set A* at which
    the laws have it, the sampled difference is normal around it with a standard error of at most e, the largest over
    all sets; and the sampled distance is at least the sampled difference at A*. So distance + 1.6449·e is an upper 95%
    bound: no set had to be chosen, and the upward bias of the sampled distance only makes the bound safer.

    Args:
        baseline, arm: for each prompt, bin shares [completions, bins] (at least two completions).

    """
    prompts = len(baseline)
    difference = np.mean([a.mean(axis=0) - b.mean(axis=0) for b, a in zip(baseline, arm, strict=True)], axis=0)
    covariance = np.sum([_covariance_of_mean(sample) for sample in (*baseline, *arm)], axis=0) / prompts**2
    tv = float(np.abs(difference).sum() / 2)
    sets = np.array(list(product((0.0, 1.0), repeat=len(difference))))
    error = float(np.sqrt(np.einsum("si,ij,sj->s", sets, covariance, sets).clip(min=0).max()))
    floor = float(np.sqrt(covariance.diagonal().clip(min=0)).sum() / np.sqrt(2 * np.pi))
    statistic, freedom = _wald(difference, covariance)
    return LawTest(
        tv=tv,
        tv_floor=floor,
        tv_upper=min(1.0, tv + ONE_SIDED_95 * error),
        tv_error=error,
        statistic=statistic,
        degrees_of_freedom=freedom,
        p_value=float(stats.chi2.sf(statistic, freedom)) if freedom else float(tv < _NEGLIGIBLE),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p values: those below α are found at a family-wise error of α."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = largest
    return adjusted


def _covariance_of_mean(shares: Floats) -> Floats:
    return np.asarray(np.cov(shares, rowvar=False) / len(shares))


def _wald(difference: Floats, covariance: Floats) -> tuple[float, int]:
    """(difference' · covariance⁻ · difference, rank): bins add up to 1, and some may be empty."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > max(_NEGLIGIBLE * values[-1], np.finfo(float).tiny)
    return float(((vectors.T @ difference)[kept] ** 2 / values[kept]).sum()), int(kept.sum())
