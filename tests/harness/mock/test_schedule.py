"""Due times and faults: exact without jitter, of the stated law with it, functions of seed and number alone."""

import numpy as np
import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.mock import Fault, MockSettings
from verispec_bench.mock.schedule import Schedule


def test_chunks_are_due_at_the_stated_times():
    schedule = Schedule(MockSettings(ttft_ms=200, tokens_per_second=20, tokens_per_chunk=4))
    assert schedule.due_times_s(0, 10) == pytest.approx([0.2, 0.4, 0.6])  # 4 + 4 + 2 tokens at 20 a second
    assert schedule.due_times_s(7, 1) == pytest.approx([0.2])


def test_jitter_has_the_stated_mean_and_coefficient_of_variation():
    schedule = Schedule(MockSettings(ttft_ms=100, tokens_per_second=50, jitter=0.5))
    times = np.array([schedule.due_times_s(number, 21) for number in range(1000)])
    first, gaps = times[:, 0], np.diff(times).ravel()
    assert gaps.min() > 0
    assert first.mean() == pytest.approx(0.1, rel=0.1)
    assert gaps.mean() == pytest.approx(0.02, rel=0.03)
    assert gaps.std() / gaps.mean() == pytest.approx(0.5, rel=0.05)


def test_the_same_seed_gives_the_same_times_and_faults_and_another_gives_others():
    def of(seed):
        schedule = Schedule(MockSettings(jitter=0.3, error_rate=0.5, error_kind=Fault.RESET, seed=seed))
        return [(schedule.due_times_s(number, 5), schedule.fault(number)) for number in range(50)]

    assert of(1) == of(1)
    assert of(1) != of(2)


def test_faults_come_at_the_stated_rate_and_do_not_depend_on_jitter():
    calm = Schedule(MockSettings(error_rate=0.2, error_kind=Fault.HANG))
    jittery = Schedule(MockSettings(error_rate=0.2, error_kind=Fault.HANG, jitter=1))
    faults = [calm.fault(number) for number in range(5000)]
    assert faults == [jittery.fault(number) for number in range(5000)]
    assert set(faults) == {None, Fault.HANG}
    assert 920 < faults.count(Fault.HANG) < 1080  # 1000 of 5000, within 2.8 standard deviations


@pytest.mark.parametrize(("rate", "expected"), [(0, None), (1, Fault.HTTP_503)])
def test_the_rates_zero_and_one_are_exact(rate, expected):
    schedule = Schedule(MockSettings(error_rate=rate))
    assert {schedule.fault(number) for number in range(1000)} == {expected}


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("tokens_per_second", 0, "--tokens-per-second 0: must be from 0.001 to 1000000"),
        ("tokens_per_second", float("nan"), "--tokens-per-second nan: must be from 0.001 to 1000000"),
        ("ttft_ms", -1, "--ttft-ms -1: must be from 0 to 3600000"),
        ("tokens_per_chunk", 0, "--tokens-per-chunk 0: must be 1 or more"),
        ("jitter", float("inf"), "--jitter inf: must be 0, or from 0.001 to 10"),
        ("output_len", 0, "--output-len 0: must be from 1 to 1000000"),
        ("error_rate", 1.5, "--error-rate 1.5: must be from 0 to 1"),
        ("max_running", 0, "--max-running 0: must be 1 or more"),
        ("model", "", "--model : must be a name"),
    ],
)
def test_a_setting_out_of_range_is_named_as_on_the_command_line(setting, value, message):
    with pytest.raises(UnusableInput, match=f"^{message}$"):
        MockSettings(**{setting: value})
