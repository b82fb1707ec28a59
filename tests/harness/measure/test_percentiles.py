"""Percentiles and their intervals."""

import numpy as np
import pytest

from verispec_bench.measure.percentiles import interval, percentile, requests_needed


def test_a_percentile_needs_a_request_beyond_it():
    assert [requests_needed(which) for which in (50, 75, 90, 95, 99, 99.9)] == [1, 4, 10, 20, 100, 1000]
    assert percentile([1.0] * 19, 95) is None
    assert percentile([1.0] * 20, 95) == 1.0
    assert percentile([1.0] * 99, 99) is None
    assert percentile([], 50) is None


def test_the_median_of_six_lies_between_the_least_and_the_largest():
    """All six on one side of it: 2 × 0.5⁶ = 3%. Of five: 6%, which is no 95% interval."""
    assert interval(np.arange(1.0, 7.0), 50) == (1.0, 6.0)
    assert interval(np.arange(1.0, 6.0), 50) == (None, None)
    assert interval(np.empty(0), 50) == (None, None)


@pytest.mark.parametrize(("which", "fewest"), [(95, 72), (99, 368)])
def test_an_interval_of_the_tail_needs_enough_observations(which, fewest):
    assert interval(np.arange(float(fewest - 1)), which) == (None, None)
    assert interval(np.arange(float(fewest)), which)[1] == fewest - 1


@pytest.mark.parametrize(("which", "n"), [(50, 30), (95, 200)])
def test_an_interval_covers_the_true_percentile_in_95_of_100_samples(which, n):
    """Of an exponential law, whose percentile is −ln(1 − p); 4,000 samples, five standard errors of slack."""
    rng = np.random.default_rng(0)
    truth, covered = -np.log(1 - which / 100), 0
    for sample in np.sort(rng.exponential(size=(4000, n)), axis=1):
        low, high = interval(sample, which)
        covered += low <= truth <= high
    assert 0.95 - 5 * (0.05 * 0.95 / 4000) ** 0.5 < covered / 4000 < 0.99
