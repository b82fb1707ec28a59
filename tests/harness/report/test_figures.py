"""Each figure is drawn where there is something to see, and is not where there is nothing."""

import pytest

from tests.harness.report.test_report import comparison
from verispec_bench.report.figures import FIGURES, draw_figures
from verispec_bench.report.figures.envelope import draw_envelope
from verispec_bench.report.figures.position import _reached

CELL = {
    "workload": "chat", "concurrency": 4, "arm": "x", "accepted_per_round": {"0": 30, "1": 25, "2": 30},
    "conditional_acceptance_rates": [0.65, 0.55, 0.1], "step_draft_share": 0.1, "step_verify_pass_share": 0.6,
    "step_rule_share": 0.1, "step_decode_pass_share": None, "step_other_share": 0.2,
    "spec_decode_acceptance_rate": 60.0, "committed_tokens_per_device_second": 50.0, "committed_tokens_per_gib": 9.0,
}  # fmt: skip
PREDICTED = {"cell": "c", "arm": "x", "speedup": 1.4, "speedup_predicted": 1.35}


def test_all_figures_are_drawn_of_a_full_summary(tmp_path):
    summary = {
        "comparisons": [comparison(), comparison(0.6, 0.5, 0.7, concurrency=16, batch_size_mean=15.0)],
        "arms": {"x": [CELL], "y": [CELL | {"arm": "y"}]},
        "prediction": {"cells": [PREDICTED, PREDICTED | {"speedup": 0.8}], "errors": {}},
    }
    assert {path.stem for path in draw_figures(summary, tmp_path)} == set(FIGURES)
    assert {path.name for path in tmp_path.glob("*.svg")} == {f"{name}.svg" for name in FIGURES}


def test_the_map_has_a_field_for_each_cell_in_its_verdicts_color():
    figure = draw_envelope({"comparisons": [comparison(), comparison(0.6, 0.5, 0.7, workload="code-edit")]})
    [axes] = figure.axes
    assert sorted(text.get_text() for text in axes.texts) == ["0.60\nloses", "1.50\nwins"]
    assert draw_envelope({"comparisons": [comparison()]}) is None


@pytest.mark.parametrize(("rounds", "reached"), [({"0": 30, "1": 25, "2": 30}, 3), ({"0": 30, "1": 25}, 2), ({}, 0)])
def test_positions_that_few_rounds_reached_are_left_out(rounds, reached):
    assert _reached(CELL | {"accepted_per_round": rounds}) == reached
