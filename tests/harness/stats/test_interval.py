"""The interval covers what it says it covers: whatever the noise of runs and prompts, on few runs."""

from math import exp

import numpy as np
import pytest
from scipy.stats import binom

from verispec_bench.stats import interval as module
from verispec_bench.stats.interval import Ratio, interval
from verispec_bench.sweep.precision import LOOKS

WORLDS = 400


def total_ratio(times: np.ndarray):
    """log(baseline / arm) of total times, [2, pairs]: what makes a throughput ratio."""

    def statistic(rows):
        totals = times[:, rows].sum(axis=-1)
        return np.log(totals[0] / totals[1])

    return statistic


def world(rng, runs: int, prompts: int, run_noise: float, effect: float) -> np.ndarray:
    """Times of both arms, [2, pairs]: the arm is exp(effect² / 2) times as fast in total, else on each prompt."""
    base = rng.lognormal(0, 0.4, (1, runs, prompts))
    times = base * rng.lognormal(0, run_noise, (2, runs, 1)) * rng.lognormal(0, 0.03, (2, runs, prompts))
    times[1] *= rng.lognormal(-(effect**2), effect, (runs, prompts))
    return times.reshape(2, -1)


def coverage(runs: int, prompts: int, run_noise: float, effect: float) -> int:
    rng, covered = np.random.default_rng(0), 0
    for _ in range(WORLDS):
        found = interval([prompts] * runs, total_ratio(world(rng, runs, prompts, run_noise, effect)))
        covered += found.low <= exp(effect**2 / 2) <= found.high
    return covered


@pytest.mark.parametrize("runs", [2, 4, 8])
@pytest.mark.parametrize(("run_noise", "effect"), [(0, 0), (0.03, 0), (0.03, 0.3), (0.1, 0.3)])
def test_the_interval_covers_whatever_the_noise_of_runs_and_prompts(monkeypatch, runs, run_noise, effect):
    """At least 93%: fewer than that of 400 worlds would come with a probability below 1e-3 if it covered 97%."""
    monkeypatch.setattr(module, "RESAMPLES", 400)
    assert coverage(runs, 8, run_noise, effect) >= 0.93 * WORLDS


@pytest.mark.parametrize("half_width", [0.02, 0.03, 0.05])
def test_stopping_when_it_is_narrow_enough_hardly_costs_coverage(monkeypatch, half_width):
    """As a sweep repeats a cell: from 4 to 12 runs, until the interval was narrow enough LOOKS times in a row."""
    monkeypatch.setattr(module, "RESAMPLES", 300)
    rng, covered = np.random.default_rng(0), 0
    for _ in range(WORLDS):
        times, narrow = world(rng, 12, 8, 0.03, 0), 0
        for runs in range(4, 13):
            found = interval([8] * runs, total_ratio(times[:, : 8 * runs]))
            narrow = narrow + 1 if (found.high / found.low) ** 0.5 - 1 <= half_width else 0
            if narrow == LOOKS:
                break
        covered += found.low <= 1 <= found.high
    assert covered >= 0.92 * WORLDS


def test_a_bootstrap_alone_would_not_cover(monkeypatch):
    """The control of the test above: with two noisy runs, runs drawn with replacement know too little."""
    monkeypatch.setattr(module, "RESAMPLES", 400)
    monkeypatch.setattr(module, "_jackknife_spread", lambda runs, statistic: 0.0)
    covered = coverage(2, 8, 0.03, 0)
    assert covered < 0.85 * WORLDS
    assert binom.cdf(covered, WORLDS, 0.93) < 1e-6


def test_runs_that_agree_have_no_spread():
    times = np.array([[1.0, 2.0, 3.0] * 2, [0.5, 1.0, 1.5] * 2])
    found = interval([3, 3], total_ratio(times))
    assert (found.value, found.low, found.high) == pytest.approx((2, 2, 2))


def test_two_runs_that_disagree_say_next_to_nothing():
    """log-ratios ±0.01 of two equal runs: t with one degree of freedom, 12.7 × 0.01."""
    times = np.array([np.ones(6), np.exp([-0.01] * 3 + [0.01] * 3)])
    found = interval([3, 3], total_ratio(times))
    assert np.log(found.high / found.value) == pytest.approx(12.706 * 0.01, rel=0.01)


def test_a_run_without_pairs_is_no_run():
    times = np.array([np.ones(8), np.ones(8)])
    assert interval([8, 0], total_ratio(times)) == Ratio(1.0)


def test_the_same_data_give_the_same_interval():
    times = world(np.random.default_rng(1), 4, 5, 0.05, 0.2)
    assert interval([5] * 4, total_ratio(times)) == interval([5] * 4, total_ratio(times))
