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
SIMULATIONS = 4000
_NEGLIGIBLE = 1e-9
"""Eigenvalues of a covariance below this share of the largest are rounding."""


@dataclass(frozen=True)
class LawTest:
    """Two samples compared.

    Attributes:
        tv: total variation distance of the two samples' bin frequencies.
        tv_floor: what is to be expected of it where both laws are the same.
        tv_upper: upper 95% bound of the distance of the two *laws*.
        covariance: of the bin frequencies' differences, [bins, bins].
        statistic, degrees_of_freedom: Wald's χ² of the differences.
        p_value: chance of such a statistic where both laws are the same.

    """

    tv: float
    tv_floor: float
    tv_upper: float
    covariance: Floats
    statistic: float
    degrees_of_freedom: int
    p_value: float

    def tv_upper_if_exact(self) -> float:
        """What `tv_upper` stays below 95 times in 100 where both laws are the same, simulated."""
        bins = np.zeros(len(self.covariance))
        differences = np.random.default_rng(0).multivariate_normal(bins, self.covariance, SIMULATIONS)
        return float(np.quantile(_upper_bounds(differences, self.covariance), 0.95))

    def size_factor(self, max_tv: float) -> float:
        """How many times as many completions let an exact arm pass `tv_upper <= max_tv` with probability 0.95.

        The bound of an exact arm is all noise, and shrinks with the root of the number of completions.
        """
        return (self.tv_upper_if_exact() / max_tv) ** 2


def compare_laws(baseline: Sequence[Floats], arm: Sequence[Floats]) -> LawTest:
    """Compare two samples.

    The distance of two laws is the largest difference of probability over all sets of bins; let A be the set at which
    these laws have it. The sampled difference at A is normal around the distance, so it plus 1.6449 of its standard
    errors is an upper 95% bound; which set A is need not be known: the largest such bound over all sets is no smaller.

    Args:
        baseline, arm: for each prompt, bin shares [completions, bins] (at least two completions).

    """
    prompts = len(baseline)
    difference = np.mean([a.mean(axis=0) - b.mean(axis=0) for b, a in zip(baseline, arm, strict=True)], axis=0)
    covariance = np.sum([_covariance_of_mean(sample) for sample in (*baseline, *arm)], axis=0) / prompts**2
    tv = float(np.abs(difference).sum() / 2)
    floor = float(np.sqrt(covariance.diagonal().clip(min=0)).sum() / np.sqrt(2 * np.pi))
    statistic, freedom = _wald(difference, covariance)
    return LawTest(
        tv=tv,
        tv_floor=floor,
        tv_upper=float(_upper_bounds(difference, covariance)),
        covariance=covariance,
        statistic=statistic,
        degrees_of_freedom=freedom,
        p_value=float(stats.chi2.sf(statistic, freedom)) if freedom else float(tv < _NEGLIGIBLE),
    )


def _upper_bounds(differences: Floats, covariance: Floats) -> Floats:
    """For differences [..., bins]: the largest one-sided 95% bound over all sets of bins, [...]."""
    sets = np.array(list(product((0.0, 1.0), repeat=len(covariance))))
    errors = np.sqrt(np.einsum("si,ij,sj->s", sets, covariance, sets).clip(min=0))
    return np.asarray((differences @ sets.T + ONE_SIDED_95 * errors).max(axis=-1).clip(max=1))


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
