"""Each figure is drawn where there is something to see, and is not where there is nothing."""

import pytest

from tests.harness.report.test_report import comparison
from verispec_bench.report.figures import FIGURES, draw_figures
from verispec_bench.report.figures.acceptance import draw_acceptance
from verispec_bench.report.figures.against_batch import draw_speedup
from verispec_bench.report.figures.envelope import draw_envelope
from verispec_bench.report.figures.pass_cost import clocked_costs, pass_costs
from verispec_bench.report.figures.position import _reached

CELL = {
    "workload": "chat", "concurrency": 4, "arm": "x", "max_num_seqs": 16,
    "accepted_per_round": {"0": 30, "1": 25, "2": 30},
    "conditional_acceptance_rates": [0.65, 0.55, 0.1], "step_draft_share": 0.1, "step_verify_pass_share": 0.6,
    "step_rule_share": 0.1, "step_decode_pass_share": None, "step_prompt_pass_share": 0.0, "step_other_share": 0.2,
    "spec_decode_acceptance_rate": 60.0, "committed_tokens_per_device_second": 50.0, "committed_tokens_per_gib": 9.0,
}  # fmt: skip
COSTS = {"tokens": [1, 2, 8, 32], "seconds": [0.05, 0.06, 0.06, 0.12], "steps": [9, 9, 9, 9], "kv_token_s": 0.0,
         "request_s": 0.001, "drafts_s": 0.002, "prompt_token_s": 0.0}  # fmt: skip
PREDICTED = {"cell": "c", "arm": "x", "baseline": "target-only", "speedup": 1.4, "speedup_predicted": 1.35,
             "speedup_oracle": 1.6}  # fmt: skip


def test_all_figures_are_drawn_of_a_full_summary(tmp_path):
    summary = {
        "comparisons": [comparison(), comparison(0.6, 0.5, 0.7, concurrency=16, batch_size_mean=15.0)],
        "arms": {"x": [CELL], "y": [CELL | {"arm": "y"}]},
        "step_costs": {"x": COSTS},
        "prediction": {"cells": [PREDICTED, PREDICTED | {"speedup": 0.8}], "errors": {}},
    }
    assert {path.stem for path in draw_figures(summary, tmp_path)} == set(FIGURES)
    assert {path.name for path in tmp_path.glob("*.svg")} == {f"{name}.svg" for name in FIGURES}


def test_a_pass_costs_what_its_tokens_and_requests_do():
    """By hand: at batch 8, γ = 3 makes 32 tokens: (.12 + 8 · .001 + .002) / (.06 + 8 · .001)."""
    found = pass_costs(COSTS, most=64)
    assert list(found) == [f"batch {size}" for size in (1, 2, 4, 8, 16)]  # no more than 32 tokens were measured
    assert list(pass_costs(COSTS, most=6)) == ["batch 1", "batch 2", "batch 4"]
    windows, ratios = found["batch 8"]
    assert list(windows) == [0, 1, 2, 3]
    assert ratios == pytest.approx([1.0, (0.08 + 0.01) / 0.068, (0.1 + 0.01) / 0.068, 0.13 / 0.068])
    assert len(found["batch 1"][1]) == 17


def test_a_baseline_that_counts_its_steps_tells_what_passes_cost():
    """By hand: 120 drafts in 10 verifying steps of 4 requests are 3 for each; 90 ms against 60 ms."""
    alone = {"workload": "chat", "concurrency": 1, "arm": "target-only", "decode_pass_ms": 50.0}
    four = {"workload": "chat", "concurrency": 4, "arm": "target-only", "decode_pass_ms": 60.0}
    counted = {"verify_steps": 10, "verify_pass_ms": 90.0, "draft_tokens": 120, "batch_size_mean": 4.0}
    longer = counted | {"verify_pass_ms": 180.0, "draft_tokens": 480}
    nothing = counted | {"verify_steps": 0, "verify_pass_ms": None}
    arms = {
        "target-only": [alone, four],
        "control": [four | {"arm": "control"}],
        "long": [four | longer | {"arm": "long"}, alone | nothing | {"arm": "long"}],
        "short": [four | counted | {"arm": "short"}],
    }
    assert clocked_costs({"arms": arms}) == {"chat, c=4": ([3.0, 12.0], [1.5, 3.0])}
    assert clocked_costs({"arms": arms | {"target-only": [four | {"decode_pass_ms": None}]}}) == {}


def test_the_oracle_stands_beside_the_speedup():
    summary = {"comparisons": [comparison()], "prediction": {"cells": [PREDICTED], "errors": {}}}
    figure = draw_speedup(summary)
    [axes] = figure.axes
    assert [3.9, 1.6] in [[*line.get_xdata(), *line.get_ydata()] for line in axes.lines]
    assert "had no rejected draft been verified" in [text.get_text() for text in figure.legends[0].get_texts()]


def test_several_arms_have_a_panel_for_each_workload_and_a_look_each():
    arms = [comparison(arm=arm, workload=workload) for workload in ("chat", "code-edit", "prose") for arm in "xy"]
    figure = draw_speedup({"comparisons": arms})
    assert [axes.get_title(loc="left") for axes in figure.axes if axes.axison] == ["chat", "code-edit", "prose"]
    assert [bool(axes.get_xlabel()) for axes in figure.axes if axes.axison] == [False, True, True]
    handles = figure.legends[0].legend_handles
    assert [handle.get_label() for handle in handles] == ["x", "y"]
    assert len({(handle.get_color(), handle.get_marker()) for handle in handles}) == 2


def test_the_map_has_a_field_for_each_cell_in_its_verdicts_color():
    figure = draw_envelope({"comparisons": [comparison(), comparison(0.6, 0.5, 0.7, workload="code-edit")]})
    [axes] = figure.axes
    assert sorted(text.get_text() for text in axes.texts) == ["0.60\nloses", "1.50\nwins"]
    assert draw_envelope({"comparisons": [comparison()]}) is None


@pytest.mark.parametrize(("rounds", "reached"), [({"0": 30, "1": 25, "2": 30}, 3), ({"0": 30, "1": 25}, 2), ({}, 0)])
def test_positions_that_few_rounds_reached_are_left_out(rounds, reached):
    assert _reached(CELL | {"accepted_per_round": rounds}) == reached


def test_a_line_of_accepted_lengths_adds_up_to_the_mean_of_kept_drafts():
    """30, 25 and 30 rounds that kept 0, 1 and 2: 85 drafts in 85 rounds."""
    [axes] = draw_acceptance({"arms": {"x": [CELL]}}).axes
    kept = list(axes.lines[0].get_ydata())
    assert kept[0] == 1
    assert sum(kept[1:]) == pytest.approx(1.0)
