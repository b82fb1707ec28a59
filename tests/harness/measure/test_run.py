"""What was observed of runs: pooled, written down, read again."""

import json

import pytest

from tests.harness.measure.literal import request
from verispec_bench.errors import UnusableInput
from verispec_bench.measure import ResourceWindow, RunData, ServerSample, ServerWindow, Slo, measure
from verispec_bench.record.atomic import finite

FIRST = RunData(
    ([request((1.0, 2.0), (1, 3), prompt_tokens=5)],),
    ServerWindow({"drafts": 3.0, "target_only_s": 1.0}, (ServerSample(0.5, 4, True, 4.0, 0.0, 0.25),), 64, 16),
    ResourceWindow(cpu_s=3.0, processors=2, rss_bytes=100, gpus=0, foreign_cpu=0.1, clock_jump_s=-0.3),
    slo=Slo(ttft_ms=1500),
)
SECOND = RunData(
    ([request((2.0, 4.0), (4, 4), prompt_tokens=7), request(end=8.0, error="timeout: x")],),
    ServerWindow(
        {"drafts": 1.0, "target_only_s": 2.0, "fallbacks.raised": 1.0},
        (ServerSample(0.5, 2, True, 2.0, 1.0, 0.75), ServerSample(0.9, 1, False, 1.0)),
        64,
        16,
    ),
    ResourceWindow(cpu_s=5.0, processors=2, rss_bytes=300, gpus=0, foreign_cpu=0.2, clock_jump_s=0.2),
    slo=Slo(ttft_ms=1500),
)


def test_runs_are_pooled_before_anything_is_divided():
    """12 tokens in 2 + 8 s; not the mean of 2 and 1 per second."""
    measures = measure(RunData.pooled([FIRST, SECOND]))
    assert (measures["completed"], measures["failed"], measures["duration"]) == (2, 1, 10.0)
    assert measures["output_throughput"] == pytest.approx(1.2)
    assert measures["goodput_share"] == pytest.approx(1 / 3)
    assert measures["drafts"] == 4
    assert measures["batch_size_mean"] == 3.0
    assert measures["kv_cache_usage_max"] == 0.75
    assert measures["server_cpu_s"] == 8.0
    assert measures["server_rss_bytes"] == 300
    assert measures["foreign_cpu"] == 0.2
    assert measures["clock_jump_s"] == -0.3
    assert measures["target_only_share"] == pytest.approx(0.3)


def test_a_reason_to_fall_back_that_one_run_knew_is_known():
    assert measure(RunData.pooled([FIRST, SECOND]))["fallbacks"] == {"raised": 1}
    blind = RunData(FIRST.runs)
    measures = measure(RunData.pooled([blind, SECOND]))
    assert measures["fallbacks"] == {"raised": 1}
    assert measures["target_only_s"] is None


def test_what_one_run_does_not_know_no_sum_knows():
    blind = RunData(FIRST.runs)
    measures = measure(RunData.pooled([blind, SECOND]))
    assert measures["drafts"] is None
    assert measures["server_cpu_s"] is None
    assert measures["max_feasible_batch"] is None
    assert measures["batch_size_mean"] == 2.0  # of the samples that there are


def test_times_of_two_runs_are_not_laid_over_each_other():
    """Both answer within their first second: the peak is a run's own."""
    once = RunData(([request((0.5, 1.0), (2, 2))],))
    assert measure(RunData.pooled([once, once]))["max_output_tokens_per_s"] == measure(once)["max_output_tokens_per_s"]


@pytest.mark.parametrize("data", [FIRST, SECOND, RunData(FIRST.runs)])
def test_a_run_comes_back_from_its_row_and_requests(data):
    row = json.loads(json.dumps(finite(data.to_row()), allow_nan=False))
    again = RunData.from_row(row, data.runs[0])
    assert again == data
    assert measure(again) == measure(data)


def test_a_damaged_row_is_refused_in_one_line():
    row = {"run": "chat/b0"} | FIRST.to_row()
    row["observed"]["server"]["gains"] = {"drafts": "many"}
    with pytest.raises(UnusableInput, match=r"^cells\.csv: damaged: run chat/b0: observed: server\.gains\.drafts: "):
        RunData.from_row(row, [])


def test_a_row_of_before_the_column_gives_what_it_holds():
    row = {
        "drafts": 30.0, "engine_steps": 211.0, "preemptions": None, "running_samples": [1.0, 3.0],
        "target_only_s": 0.5, "fallbacks": {"raised": 2}, "foreign_cpu": 0.01,
    }  # fmt: skip
    measures = measure(RunData.from_row(row, FIRST.runs[0]))
    assert measures["drafts"] == 30
    assert measures["batch_size_mean"] == 2.0
    assert measures["fallbacks"] == {"raised": 2}
    assert measures["foreign_cpu"] == 0.01
    assert measures["preemptions"] is None
