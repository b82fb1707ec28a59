"""Cells and arms are called by what tells them from the others."""

from verispec_bench.labels import cell_label, line_label, load_label, setting_label, where

CELL = {
    "workload": "chat", "arm": "x", "baseline": "target-only", "concurrency": 4, "request_rate": None,
    "trace_speed": None, "input_len": None, "output_len": 96, "temperature": 0.0, "max_num_seqs": 16, "dtype": "auto",
}  # fmt: skip


def test_a_comparison_is_named_by_what_tells_it_from_the_others():
    hot, default = CELL | {"temperature": 0.8}, CELL | {"baseline": "deployment-default"}
    assert where(CELL, [CELL]) == "chat, c=4, x"
    assert where(hot, [CELL, hot]) == "chat, c=4, t 0.8, x"
    assert where(default, [CELL, default]) == "chat, c=4, x against deployment-default"
    assert cell_label(hot, [CELL, hot]) == "c=4, t 0.8"
    assert setting_label(CELL, [CELL, CELL | {"max_num_seqs": 8, "input_len": 512}]) == "limit 16"
    assert line_label(CELL, [CELL, CELL | {"arm": "y"}]) == "chat, x"


def test_loads_of_all_kinds_have_a_label():
    loads = [{"concurrency": 4}, {"concurrency": None, "request_rate": 2.5}, {"concurrency": None, "trace_speed": 2.0}]
    assert [load_label(CELL | load) for load in loads] == ["c=4", "2.5/s", "trace x2"]
