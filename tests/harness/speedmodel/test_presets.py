"""The page is offered what a sweep measured, and nothing that was not."""

import pytest

from verispec_bench.speedmodel.presets import measured_presets, worked_presets

KEY = {"workload": "chat", "concurrency": 4, "input_len": None, "output_len": 96, "temperature": 0, "max_num_seqs": 8,
       "dtype": "float32"}  # fmt: skip
ARM = KEY | {
    "spec_decode_num_drafts": 100, "draft_tokens": 300, "engine_steps": 60, "verify_steps": 50, "verify_pass_ms": 80.0,
    "step_draft_s": 0.36, "step_rule_s": 0.1, "step_other_s": 0.06, "step_prompt_pass_s": 0.2,
    "spec_decode_acceptance_length": 2.0, "batch_size_mean": 3.5, "median_ttft_ms": 200.0, "output_len_mean": 90.0,
}  # fmt: skip
COMPARED = KEY | {"arm": "x", "baseline": "target-only", "valid": True, "speedup": 1.3, "speedup_low": 1.1,
                  "speedup_high": 1.5}  # fmt: skip


def summary(arm=ARM, compared=COMPARED, **baseline):
    base = KEY | {"median_itl_ms": 60.0, "median_ttft_ms": 210.0} | baseline
    return {"arms": {"target-only": [base], "x": [arm]}, "comparisons": [compared]}


def test_a_cell_is_read_as_a_round():
    [found] = measured_presets(summary())
    assert found["name"] == "chat, c=4, x: as measured"
    assert (found["target_ms"], found["verify_ms"], found["gamma"]) == (60.0, 80.0, 3)
    assert found["draft_ms"] == pytest.approx(2.0)
    assert found["overhead_ms"] == pytest.approx(3.0)
    assert 1 + found["alpha"] + found["alpha"] ** 2 + found["alpha"] ** 3 == pytest.approx(2.0, abs=0.01)
    assert (found["batch"], found["prefill_ms"], found["tokens"]) == (3.5, 210.0, 90)
    assert found["measured"] == [{"batch": 3.5, "speedup": 1.3, "low": 1.1, "high": 1.5}]


@pytest.mark.parametrize(
    "changed",
    [
        {"arm": ARM | {"verify_pass_ms": None}},
        {"arm": ARM | {"step_rule_s": None}},
        {"arm": ARM | {"step_prompt_pass_s": None}},
        {"median_itl_ms": None},
        {"compared": COMPARED | {"valid": False}},
        {"compared": COMPARED | {"concurrency": None}},
        {"compared": COMPARED | {"baseline": "deployment-default"}},
    ],
)
def test_what_was_not_measured_is_not_offered(changed):
    assert measured_presets(summary(**changed)) == []


def test_where_the_steps_of_the_baseline_were_counted_its_own_clock_is_believed():
    [found] = measured_presets(summary(decode_pass_ms=50.0, step_other_s=0.2, engine_steps=100))
    assert found["target_ms"] == pytest.approx(52.0)


def test_a_part_that_took_no_time_is_no_reason_to_leave_a_cell_out():
    assert measured_presets(summary(arm=ARM | {"step_rule_s": 0.0}))


def test_cells_that_differ_in_a_setting_have_names_of_their_own():
    warm = {"temperature": 0.8}
    both = summary()
    both["arms"] = {name: [*cells, cells[0] | warm] for name, cells in both["arms"].items()}
    both["comparisons"].append(COMPARED | warm)
    assert [found["name"] for found in measured_presets(both)] == [
        "chat, c=4, t 0, x: as measured", "chat, c=4, t 0.8, x: as measured"
    ]  # fmt: skip


def test_the_worked_scenarios_are_offered():
    assert [preset["name"] for preset in worked_presets()] == ["code assistant", "negative control"]
