"""Every combination of server settings, workload, load and lengths is a cell, and no other."""

import pytest
from pydantic import ValidationError

from verispec_bench.scenario import Scenario, cells_of
from verispec_bench.scenario.cells import searched_cells

ARM = {"speculative": {"method": "ngram", "num_speculative_tokens": 3}}
SEARCH = {"goodput": {"ttft_ms": 500}, "slo_search": {"low": 1, "high": 8}}


def scenario(load, workloads=("chat",), **changes) -> Scenario:
    return Scenario.model_validate(
        {"name": "s", "model": "m", "arms": {"x": ARM}, "workloads": list(workloads), "load": load} | changes
    )


def ids(load, **changes) -> list[str]:
    return [cell.id for cell in cells_of(scenario(load, **changes))]


def test_a_cells_name_says_all_of_its_key():
    found = ids({"concurrency": [2], "request_rate": [0.5]}, server={"dtype": "float32", "max_num_seqs": 4})
    assert found == ["chat/c2/out96/t0/s4/float32", "chat/r0.5/out96/t0/s4/float32"]


def test_axes_of_the_servers_are_the_outermost():
    found = ids({"concurrency": [1, 2]}, axes={"max_num_seqs": [4, 8], "dtype": ["auto", "float32"]})
    assert [name.removeprefix("chat/") for name in found] == [
        f"c{c}/out96/t0/s{limit}/{dtype}" for dtype in ("auto", "float32") for limit in (4, 8) for c in (1, 2)
    ]


def test_only_prompts_whose_length_can_be_chosen_have_the_axis_of_lengths():
    long = {"name": "long", "kind": "fixed-length"}
    cells = cells_of(scenario({"concurrency": [1], "input_len": [64, 512]}, ["chat", long]))
    assert [(cell.workload, cell.input_len) for cell in cells] == [("chat", None), ("long", 64), ("long", 512)]


def test_a_trace_has_its_own_arrivals_and_no_other_load():
    trace = {"name": "recorded", "kind": "trace", "file": "t.jsonl"}
    cells = cells_of(scenario({"concurrency": [1], "trace_speed": [1, 4]}, ["chat", trace]))
    assert [cell.id.removesuffix("/t0/s16/auto") for cell in cells] == ["chat/c1/out96", "recorded/x1", "recorded/x4"]
    assert [cell.is_open for cell in cells] == [False, True, True]


def test_searches_have_one_cell_for_each_length_and_temperature():
    cells = searched_cells(scenario(SEARCH | {"temperature": [0, 0.8]}))
    assert [(cell.workload, cell.temperature, cell.concurrency) for cell in cells] == [
        ("chat", 0, None),
        ("chat", 0.8, None),
    ]
    assert searched_cells(scenario({"concurrency": [1]})) == []


@pytest.mark.parametrize(
    ("load", "workloads", "message"),
    [
        ({}, ["chat"], "load needs concurrency"),
        ({"concurrency": [1]}, [{"name": "long", "kind": "fixed-length"}], "load needs input_len"),
        ({"concurrency": [1], "input_len": [8]}, ["chat"], "no workload has prompts of a length"),
        ({"concurrency": [1], "max_blocks": 8}, ["chat"], "max_blocks and half_width belong together"),
        ({"concurrency": [1], "max_blocks": 2, "half_width": 0.1}, ["chat"], "max_blocks is below blocks"),
        ({"concurrency": [1], "blocks": 2, "max_blocks": 9, "half_width": 0.1}, ["chat"], "needs at least 4 blocks"),
        ({"concurrency": [1], "budget_min": 9}, ["chat"], "budget_min limits further blocks"),
        ({"concurrency": [1]}, [{"name": "t", "kind": "trace", "file": "t.csv"}], "traces have their own arrivals"),
        ({"request_rate": [float("inf")]}, ["chat"], "finite number"),
        ({"slo_search": {"low": 1, "high": 2}}, ["chat"], "slo_search needs goodput"),
        ({"goodput": {"ttft_ms": 1}, "slo_search": {"low": 2, "high": 1}}, ["chat"], "low must be below high"),
        ({"concurrency": [1], "goodput": {}}, ["chat"], "needs one of ttft_ms, tpot_ms, e2el_ms"),
    ],
)
def test_a_load_without_a_meaning_is_refused(load, workloads, message):
    with pytest.raises(ValidationError, match=message):
        scenario(load, workloads)


def test_a_control_alone_is_something_to_compare():
    assert scenario({"concurrency": [1]}, arms={}, control=True).all_arms == ["target-only", "control"]
    with pytest.raises(ValidationError, match="has no arms, so there is nothing to compare"):
        scenario({"concurrency": [1]}, arms={})


@pytest.mark.parametrize("name", ["target-only", "deployment-default", "control"])
def test_the_names_of_the_harness_are_taken(name):
    with pytest.raises(ValidationError, match=f"the arm '{name}' is made by the harness"):
        scenario({"concurrency": [1]}, arms={name: ARM})
