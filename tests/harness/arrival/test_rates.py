"""Due times follow the law that was asked for, and are a function of it and the seed."""

import math

import numpy as np
import pytest
from scipy import stats

from verispec_bench.arrival import schedule
from verispec_bench.errors import UnusableInput


def gaps(*args, **options):
    return np.diff(schedule(*args, **options))


def test_constant_gaps_are_multiples_without_drift():
    assert schedule(5, 10, burstiness=math.inf) == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])
    assert schedule(100_001, 200, burstiness=math.inf)[-1] == pytest.approx(500, abs=1e-6)


def test_the_same_seed_gives_the_same_arrivals_and_another_seed_others():
    assert schedule(100, 5, seed=3) == schedule(100, 5, seed=3)
    assert schedule(100, 5, seed=3) != schedule(100, 5, seed=4)


def test_a_longer_run_begins_with_the_shorter_one():
    assert schedule(200, 5, seed=3)[:100] == schedule(100, 5, seed=3)


@pytest.mark.parametrize("options", [{}, {"burstiness": 0.1}, {"burstiness": math.inf}, {"ramp_to": 50}])
def test_times_ascend_from_zero(options):
    times = schedule(1000, 5, seed=1, **options)
    assert (len(times), times[0]) == (1000, 0)
    assert times == sorted(times)


@pytest.mark.parametrize("burstiness", [0.25, 1, 4])
def test_gaps_follow_the_gamma_law_of_the_rate(burstiness):
    """Also checks the variance: vLLM's stretched arrivals of short runs would fail it."""
    sample = gaps(20_001, 5, burstiness=burstiness, seed=7)
    law = stats.gamma(burstiness, scale=1 / (5 * burstiness))
    assert stats.kstest(sample, law.cdf).pvalue > 0.001
    ends = [schedule(20, 5, burstiness=burstiness, seed=seed)[-1] for seed in range(2000)]
    assert np.mean(ends) == pytest.approx(19 / 5, rel=0.05)
    assert np.std(ends) == pytest.approx(math.sqrt(19 / burstiness) / 5, rel=0.1)


def test_a_ramp_reaches_each_count_when_the_cumulated_rate_does():
    """From 2 to 6 per second, 40 requests: 10 s, and 2t + t²/5 of them by time t."""
    times = schedule(41, 2, ramp_to=6, burstiness=math.inf)
    ramp_s = 2 * 41 / 8
    for count, at in enumerate(times):
        assert 2 * at + (4 / ramp_s) * at**2 / 2 == pytest.approx(count)
    assert times[-1] < ramp_s


def test_a_ramp_that_begins_at_zero():
    """From 0 to 4 per second in 2·8/4 = 4 s: t²/2 by time t."""
    assert schedule(8, 0, ramp_to=4, burstiness=math.inf) == pytest.approx([math.sqrt(2 * n) for n in range(8)])


def test_a_ramp_down():
    times = gaps(100, 20, ramp_to=5, burstiness=math.inf)
    assert (times[0], times[-1]) == (pytest.approx(1 / 20, rel=0.02), pytest.approx(1 / 5, rel=0.1))
    assert all(np.diff(times) > 0)


def test_a_ramp_to_the_same_rate_is_no_ramp():
    assert schedule(50, 5, ramp_to=5, seed=2) == pytest.approx(schedule(50, 5, seed=2))


def test_after_a_ramp_its_last_rate_stays():
    """A sample whose gaps sum to more than expected goes on at the ramp's end rate."""
    seed = next(seed for seed in range(100) if sum(gaps(50, 1, seed=seed)) > 60)
    ramped, unit = schedule(50, 2, ramp_to=6, seed=seed), schedule(50, 1, seed=seed)
    assert ramped[-1] == pytest.approx(2 * 50 / 8 + (unit[-1] - 50) / 6)


def test_few_requests():
    assert schedule(0, 5) == []
    assert schedule(1, 5) == [0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 0}, "request rate 0: rates are finite and above 0"),
        ({"rate": -1}, "request rate -1: "),
        ({"rate": math.inf}, "request rate inf: "),
        ({"rate": math.nan}, "request rate nan: "),
        ({"rate": 5, "ramp_to": 0}, "request rate 5 to 0: "),
        ({"rate": 5, "burstiness": 0}, "burstiness 0: is not above 0"),
        ({"rate": 5, "burstiness": math.nan}, "burstiness nan: "),
    ],
)
def test_rates_that_are_none_are_refused(options, message):
    with pytest.raises(UnusableInput, match=message):
        schedule(10, **options)
