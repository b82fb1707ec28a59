"""The verdict says what the interval says; figures and page show wins and losses alike."""

import pytest

from verispec_bench.report import summary_table, verdict
from verispec_bench.report.figures import draw_figures
from verispec_bench.report.table import same_tokens, with_interval


def comparison(speedup=1.5, low=1.2, high=1.8, valid=True, **fields):
    ratios = {}
    for which in ("p50", "p95"):
        for name in ("ttft", "tpot", "e2el"):
            key = f"{which}_{name}_ratio"
            ratios |= {key: 0.9, f"{key}_low": 0.8, f"{key}_high": 1.0}
    return ratios | {
        "workload": "chat", "arm": "x", "baseline": "target-only", "concurrency": 4, "batch_size_mean": 3.9,
        "cell": "c",
        "speedup_kind": "output_throughput", "speedup": speedup,
        "speedup_low": low, "speedup_high": high, "valid": valid, "reasons": [],
        "tokens_per_step": 1.2, "greedy_compared": 8, "greedy_different": 0,
    } | fields  # fmt: skip


def summary(*comparisons):
    cell = {"workload": "chat", "concurrency": 4, "arm": "x", "accepted_per_round": {"0": 3, "1": 1}}
    return {"scenario": "s", "comparisons": list(comparisons), "arms": {"x": [cell]}}


def drafted(arm, kept, tokens_s, **fields):
    return {
        "workload": "chat", "concurrency": 4, "arm": arm, "accepted_per_round": None,
        "spec_decode_acceptance_rate": kept, "committed_tokens_per_device_second": tokens_s,
        "committed_tokens_per_gib": tokens_s and tokens_s / 5,
    } | fields  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "valid", "word"),
    [
        (1.01, 1.5, True, "wins"),
        (0.5, 0.99, True, "loses"),
        (0.9, 1.1, True, "even"),
        (1.2, 1.5, False, "invalid"),
        (None, None, True, "invalid"),
    ],
)
def test_the_verdict_is_the_intervals(low, high, valid, word):
    assert verdict(comparison(low=low, high=high, valid=valid)) == word


def test_missing_numbers_are_said_to_be_missing():
    assert with_interval(comparison(speedup=None), "speedup") == "n/a"
    assert same_tokens(comparison(greedy_compared=None, greedy_different=None)) == "n/a"
    assert same_tokens(comparison(greedy_different=3)) == "3 of 8 differ"
    assert same_tokens(comparison()) == "yes (8)"


def test_table_has_a_line_for_each_comparison():
    assert summary_table(summary(comparison(), comparison(low=0.5, high=0.9))).row_count == 2


def test_every_figure_is_drawn_and_none_without_data(tmp_path):
    names = {path.stem for path in draw_figures(summary(comparison(), comparison(0.6, 0.5, 0.7)), tmp_path)}
    assert names == {"envelope", "speedup_vs_batch", "p50_tpot_vs_batch", "p95_tpot_vs_batch", "acceptance"}
    assert (tmp_path / "envelope.svg").is_file()
    met = {"target-only": [drafted("target-only", None, 90.0)], "a": [drafted("a", 30.0, 80.0)]}
    assert not draw_figures({"scenario": "s", "comparisons": [], "arms": met}, tmp_path)
    met["b"] = [drafted("b", 60.0, 70.0), drafted("b", 60.0, None, concurrency=8)]
    drawn = draw_figures({"scenario": "s", "comparisons": [], "arms": met}, tmp_path)
    assert [path.stem for path in drawn] == ["drafter_frontier"]
    assert draw_figures({"scenario": "s", "comparisons": [comparison(speedup=None, p50_tpot_ratio=None,
                         p95_tpot_ratio=None)], "arms": {}}, tmp_path) == []  # fmt: skip
