"""What a bench sends: how many, when, how long, and which prompts."""

import math

import pytest

from verispec_bench.arrival import schedule
from verispec_bench.bench import BenchLoad
from verispec_bench.client import Sampling
from verispec_bench.errors import UnusableInput

SAMPLING = Sampling(8)


def requests(**load):
    return BenchLoad(**load).requests(SAMPLING)[1]


def trace(tmp_path, count=3):
    path = tmp_path / "t.jsonl"
    lines = [f'{{"timestamp": {1000 * i}, "input_length": 5, "output_length": {10 + i}}}\n' for i in range(count)]
    path.write_text("".join(lines))
    return path


def test_a_closed_loop_by_default():
    load = BenchLoad()
    assert (load.is_open, load.concurrency, len(requests())) == (False, 4, 32)
    assert {request.due_s for request in requests()} == {None}


def test_a_rate_opens_the_loop_and_lifts_the_limit():
    load = BenchLoad(request_rate=5, num_prompts=7, seed=3)
    assert (load.is_open, load.concurrency) == (True, None)
    assert [request.due_s for request in load.requests(SAMPLING)[1]] == schedule(7, 5, seed=3)
    assert BenchLoad(request_rate=5, max_concurrency=2).concurrency == 2


def test_ramps_and_bursts_are_passed_on():
    sent = requests(request_rate=2, ramp_to=6, burstiness=math.inf, num_prompts=9)
    assert [request.due_s for request in sent] == schedule(9, 2, ramp_to=6, burstiness=math.inf)


def test_a_trace_gives_times_and_output_lengths(tmp_path):
    sent = requests(trace=trace(tmp_path), trace_speed=2)
    assert [request.due_s for request in sent] == [0, 0.5, 1]
    assert [request.prompt.output_len for request in sent] == [10, 11, 12]
    assert len(requests(trace=trace(tmp_path), num_prompts=2)) == 2


def test_the_seed_orders_the_prompts():
    ids = [[request.prompt.id for request in requests(seed=seed)] for seed in (1, 1, 2)]
    assert ids[0] == ids[1] != ids[2]


def test_warm_up_prompts_are_not_measured():
    warmups, measured = BenchLoad(num_prompts=5, num_warmups=3, request_rate=5).requests(SAMPLING)
    assert (len(warmups), len(measured)) == (3, 5)
    assert not {w.prompt.id for w in warmups} & {m.prompt.id for m in measured}
    assert {w.due_s for w in warmups} == {None}


def test_the_plan_of_a_dry_run(tmp_path):
    plan = BenchLoad(request_rate=2, burstiness=math.inf, num_prompts=5, num_warmups=1).plan(SAMPLING)
    assert plan == {
        "requests": 5,
        "warmups": 1,
        "loop": "open",
        "max_concurrency": None,
        "arrivals_s": 2.0,
        "request_rate": 2.0,
        "most_output_tokens": 40,
    }
    assert BenchLoad(trace=trace(tmp_path)).plan(SAMPLING)["most_output_tokens"] == 33
    closed = BenchLoad().plan(SAMPLING)
    assert (closed["loop"], closed["arrivals_s"], closed["request_rate"]) == ("closed", None, None)


def test_what_cannot_be_sent_is_refused(tmp_path):
    for load, message in (
        ({"num_prompts": 999}, "has 280 prompts, 999 were asked for"),
        ({"num_prompts": 280, "num_warmups": 1}, "has 280 prompts, 281 were asked for"),
        ({"workload": "no.jsonl"}, "no.jsonl: the prompt file cannot be read"),
        ({"ramp_to": 5}, "--ramp-to and --burstiness shape the arrivals of a --request-rate"),
        ({"burstiness": 0.5}, "--ramp-to and --burstiness shape the arrivals of a --request-rate"),
        ({"request_rate": -1}, "request rate -1"),
        ({"trace": trace(tmp_path), "request_rate": 5}, "a trace has its own times"),
        ({"trace": trace(tmp_path), "num_prompts": 4}, "has 3 requests, 4 were asked for"),
    ):
        with pytest.raises(UnusableInput, match=message):
            requests(**load)
