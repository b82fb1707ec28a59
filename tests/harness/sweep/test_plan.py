"""Prompts are dealt so that no server sees one twice, all arms see the same, and orders alternate."""

from itertools import chain
from pathlib import Path

import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.scenario import Scenario, load_scenario, load_setup
from verispec_bench.scenario.workloads import name_of
from verispec_bench.sweep import lay_out
from verispec_bench.workload import Prompt, Workload, load_workload

SCENARIOS = [path for path in sorted((Path(__file__).parents[3] / "scenarios").glob("*.yaml")) if load_setup(path).load]
assert SCENARIOS
LOAD = {"concurrency": [1, 4], "min_requests": 3, "requests_per_stream": 2, "blocks": 2}


def scenario(load=None, **changes) -> Scenario:
    arm = {"speculative": {"method": "ngram", "num_speculative_tokens": 3}}
    return Scenario.model_validate(
        {
            "name": "s",
            "model": "owner/model",
            "arms": {"x": arm, "y": arm},
            "workloads": ["chat", "code-edit"],
            "load": LOAD | (load or {}),
            "warmup_requests": 2,
        }
        | changes
    )


def workloads(count):
    prompts = {name: tuple(Prompt(f"{name}{i}", f"{name} {i}") for i in range(count)) for name in ("chat", "code-edit")}
    return {name: Workload(name, dealt) for name, dealt in prompts.items()}


def dealt(planned):
    """All texts that any run sends."""
    texts = [p.text for block in planned.blocks for attempt in block.attempts for p in attempt]
    texts += [p.text for search in planned.searches for step in search.prompts for tried in step for p in tried]
    return texts + [p.text for p in chain.from_iterable(planned.warmup.values())]


SEARCH = {"goodput": {"ttft_ms": 500}, "slo_search": {"low": 1, "high": 8, "steps": 2, "requests": 5}}


@pytest.mark.parametrize(
    "load", [{}, {"request_rate": [2.0]}, SEARCH, {"blocks": 4, "max_blocks": 6, "half_width": 0.1}]
)
def test_no_prompt_stands_twice_anywhere(load):
    texts = dealt(lay_out(scenario(load), workloads(100)))
    assert len(texts) == len(set(texts))


def test_orders_alternate_within_a_cell():
    blocks = lay_out(scenario(), workloads(100)).blocks
    assert [b.arms for b in blocks[:2]] == [["target-only", "x", "y"], ["y", "x", "target-only"]]


def test_the_control_and_the_deployment_default_run_beside_the_baseline():
    blocks = lay_out(scenario(control=True, deployment_default=True), workloads(100)).blocks
    assert blocks[0].arms == ["target-only", "deployment-default", "control", "x", "y"]


def test_sizes_follow_the_load():
    blocks = lay_out(scenario(), workloads(100)).blocks
    assert [(b.cell.concurrency, len(b.attempts[0])) for b in blocks if b.index == 0] == [
        (1, 3),
        (1, 3),
        (4, 8),
        (4, 8),
    ]


def test_an_open_loop_has_its_own_cells():
    cells = [b.cell for b in lay_out(scenario({"request_rate": [2.5]}), workloads(100)).blocks if b.index == 0]
    assert [(cell.concurrency, cell.request_rate, cell.is_open) for cell in cells[-2:]] == [(None, 2.5, True)] * 2
    assert cells[-1].id == "code-edit/r2.5/out96/t0/s16/auto"


def test_retries_get_what_is_left():
    """2 warm-up + 2·(3 + 8) first attempts = 24; of 30 prompts 6 are left: two retries of the small cell."""
    blocks = lay_out(scenario(), workloads(30)).blocks
    assert [len(b.attempts) for b in blocks if b.cell.workload == "chat"] == [2, 2, 1, 1]


def test_further_blocks_get_what_retries_leave():
    """2 for warm-up, 4·(3 + 8) first attempts and as many for retries; of 98 prompts 8 are left: two further blocks of
    the small cell."""
    load = {"blocks": 4, "max_blocks": 7, "half_width": 0.1}
    blocks = lay_out(scenario(load), workloads(98)).blocks
    further = [(b.cell.concurrency, b.index, len(b.attempts)) for b in blocks if b.cell.workload == "chat"]
    assert [entry for entry in further if entry[1] >= 4] == [(1, 4, 1), (1, 5, 1)]


def test_a_trace_is_replayed_once_from_its_beginning_in_as_many_parts_as_there_are_blocks():
    trace = {"name": "recorded", "kind": "trace", "file": "t.jsonl"}
    lines = tuple(Prompt(str(i), f"line {i}", input_len=4, output_len=9, at_s=float(i)) for i in range(20))
    planned = lay_out(
        scenario({"concurrency": [], "trace_speed": [2.0]}, workloads=[trace]),
        {"recorded": Workload("recorded", lines)},
    )
    assert [[p.id for p in block.attempts[0]] for block in planned.blocks] == [
        [str(i) for i in range(9)],
        [str(i) for i in range(9, 18)],
    ]
    assert [p.id for p in planned.warmup["recorded"]] == ["18", "19"]
    assert {block.cell.id for block in planned.blocks} == {"recorded/x2/t0/s16/auto"}


def test_loads_with_the_same_prompts_have_blocks_of_the_same_size():
    blocks = lay_out(scenario({"same_prompts": True}), workloads(60)).blocks
    first = {b.cell.concurrency: b.attempts for b in blocks if b.cell.workload == "chat" and b.index == 0}
    assert first[1] == first[4]
    assert len(first[1][0]) == 8
    other = next(b.attempts for b in blocks if b.cell.workload == "chat" and b.index == 1)
    assert set(other[0]).isdisjoint(first[1][0])


def test_servers_that_are_started_anew_get_the_same_prompts():
    blocks = lay_out(scenario(axes={"max_num_seqs": [2, 8]}), workloads(60)).blocks
    small, large = ([b for b in blocks if b.cell.max_num_seqs == limit] for limit in (2, 8))
    assert [b.attempts for b in small] == [b.attempts for b in large]


def test_too_few_prompts_are_refused_with_the_numbers():
    with pytest.raises(UnusableInput, match="workload chat: the scenario needs 24 distinct prompts, it has 23"):
        lay_out(scenario(), workloads(23))
    with pytest.raises(UnusableInput, match="the scenario needs 34 distinct prompts, it has 33"):
        lay_out(scenario(SEARCH), workloads(33))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_scenario_that_is_swept_has_prompts_enough(path):
    loaded = load_scenario(path)
    lay_out(loaded, {name_of(spec): load_workload(spec, loaded.seed, path.parent) for spec in loaded.workloads})
