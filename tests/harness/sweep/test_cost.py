"""What a sweep costs is computed from what is known, and unknown where nothing is."""

import pytest

from verispec_bench.record import ResultDirectory, Run
from verispec_bench.scenario import Cell
from verispec_bench.sweep.cost import cost_of, measured_speeds
from verispec_bench.sweep.plan import PlannedBlock
from verispec_bench.workload import Prompt


def block(index=0, arms=("target-only", "x"), at_s=(None,) * 5, **load):
    cell = Cell("chat", output_len=20, temperature=0, max_num_seqs=8, dtype="auto", **({"concurrency": None} | load))
    return PlannedBlock(cell, index, list(arms), [[Prompt(str(i), at_s=at) for i, at in enumerate(at_s)]])


def test_an_open_loop_lasts_as_long_as_its_arrivals():
    cost = cost_of([block(request_rate=2.0), block(index=1, request_rate=2.0)], least=1, known={})
    assert (cost.requests, cost.most_tokens, cost.seconds) == (10, 200, 5.0)


def test_a_trace_lasts_as_long_as_it_was_recorded():
    assert cost_of([block(at_s=(1.0, 2.0, 5.0), trace_speed=2.0)], 1, {}).seconds == 4.0


def test_a_closed_loop_lasts_as_its_arms_were_fast_at_the_nearest_load():
    """100 tokens each: at 10 tokens/s and at 25."""
    known = {("target-only", 4): 10.0, ("target-only", 32): 99.0, ("x", 8): 25.0}
    assert cost_of([block(concurrency=4)], 1, known).seconds == pytest.approx(14.0)


def test_a_second_baseline_is_as_fast_as_the_first():
    assert cost_of([block(arms=("control",), concurrency=4)], 1, {("target-only", 4): 10.0}).seconds == 10.0


def test_an_arm_that_nobody_has_measured_has_no_duration():
    assert cost_of([block(concurrency=4)], 1, {("target-only", 4): 10.0}).seconds is None


def test_speeds_are_those_of_the_same_model_on_the_same_machine(tmp_path):
    ours = {"model": "m", "machine": "here"}
    for name, identity, speed in (("a", ours, 12.0), ("b", ours | {"machine": "there"}, 99.0)):
        manifest = {"identity": identity, "identity_sha256": "", "complete": True, "servers": {}}
        results = ResultDirectory.create(tmp_path / name, manifest)
        row = {"arm": "x", "concurrency": 4, "output_throughput": speed}
        results.add_run(Run("c", 0, 0, "x"), row, [])
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    assert measured_speeds(tmp_path, ours) == {("x", 4): 12.0}
