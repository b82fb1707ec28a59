"""Costs that made the runs are found again, and a cell is predicted without having been seen."""

from collections import defaultdict

import pytest

from verispec_bench.speedmodel.prediction import errors, predict
from verispec_bench.speedmodel.step_time import StepTime, Work

TRUE = StepTime(step_s=0.05, round_s=0.02, decoded_s=0.002, draft_s=0.0015, prompt_token_s=0.001, kv_token_s=1e-6)


def row(steps, tokens, completed=4, drafts=0, accepted=0, prompt=100, speed=1.0):
    made = {
        "engine_steps": steps, "verify_steps": steps if drafts else None,
        "total_output_tokens": tokens, "completed": completed, "tokens_per_step": tokens / (tokens - accepted),
        "accepted_tokens": accepted or None, "draft_tokens": drafts or None,
        "total_input_tokens": prompt * completed, "input_len_mean": prompt,
        "output_len_mean": tokens / completed, "concurrency": 1,
    }  # fmt: skip
    return made | {"duration": TRUE.seconds(Work.of(made)) * speed}


def cell(steps, tokens, drafts, accepted, speed=1.0, **more):
    return [{
        "target-only": row(steps, tokens, **more),
        "x": row(steps - accepted, tokens, drafts=drafts, accepted=accepted, speed=speed, **more),
    }]  # fmt: skip


ANY = defaultdict(lambda: (0.0, 9.0))
CELLS = {
    "a": cell(400, 400, 300, 120),
    "b": cell(200, 800, 500, 80, prompt=700),
    "c": cell(100, 1600, 900, 40, completed=32),
    "d": cell(60, 900, 100, 20, prompt=30),
    "e": cell(300, 500, 200, 100, completed=9),
    "f": cell(150, 1200, 700, 60, prompt=1500, completed=11),
}


def test_work_is_counted_from_a_run():
    work = Work.of(row(90, 100, completed=4, drafts=50, accepted=30, prompt=100))
    assert work == Work(steps=90, rounds=90, decoded=66, drafts=50, prompt_tokens=400, kv_tokens=66 * 112.5)
    assert Work.of(row(90, 100) | {"engine_steps": None}) is None
    assert Work.of(row(90, 100) | {"tokens_per_step": None}) is None


def test_drafts_that_were_accepted_past_a_stop_hide_no_step():
    """vLLM counts them: 30 accepted, of which 25 were committed, are 75 steps of the requests."""
    counted = row(75, 100, completed=4, drafts=50, accepted=30) | {"tokens_per_step": 100 / 75}
    assert Work.of(counted).decoded == pytest.approx(71)


def test_a_cell_that_was_held_out_is_predicted():
    found = predict(CELLS, "x", "target-only", ANY)
    assert [p["cell"] for p in found] == list(CELLS)
    for prediction in found:
        assert prediction["step_ms_predicted"] == pytest.approx(prediction["step_ms"], rel=0.03)
        assert prediction["speedup_predicted"] == pytest.approx(prediction["speedup"], rel=0.03)
    off = errors(found)
    assert (off["cells"], off["speedup_within_5_percent"]) == (6, 6)
    assert off["step_error_p95"] < 0.03


def test_a_prediction_may_lie_within_the_measured_interval():
    found = predict(CELLS, "x", "target-only", ANY | {"a": (8.0, 9.0)})
    assert errors(found)["speedup_within_interval"] == 5


def test_a_cell_that_is_slow_for_a_reason_of_its_own_is_not_explained_away():
    """The model has not seen it: the error says that something else is going on there."""
    found = predict(CELLS | {"c": cell(100, 1600, 900, 40, speed=1.5, completed=32)}, "x", "target-only", ANY)
    [odd] = [p for p in found if p["cell"] == "c"]
    assert odd["step_ms_predicted"] / odd["step_ms"] == pytest.approx(1 / 1.5, rel=0.1)


def test_the_speedup_is_that_of_tokens_per_second():
    longer = {name: [block | {"x": block["x"] | {"total_output_tokens": 2 * block["x"]["total_output_tokens"]}}
              for block in blocks] for name, blocks in CELLS.items()}  # fmt: skip
    found = {p["cell"]: p["speedup"] for p in predict(longer, "x", "target-only", ANY)}
    before = {p["cell"]: p["speedup"] for p in predict(CELLS, "x", "target-only", ANY)}
    assert found["a"] == pytest.approx(2 * before["a"])


def test_the_oracle_verifies_no_draft_that_is_rejected():
    perfect = {name: [block | {"x": block["x"] | {"draft_tokens": block["x"]["accepted_tokens"]}} for block in blocks]
               for name, blocks in CELLS.items()}  # fmt: skip
    for blocks in perfect.values():
        blocks[0]["x"]["duration"] = TRUE.seconds(Work.of(blocks[0]["x"]))
    ideal = {p["cell"]: p["speedup"] for p in predict(perfect, "x", "target-only", ANY)}
    for prediction in predict(CELLS, "x", "target-only", ANY):
        assert prediction["speedup_oracle"] == pytest.approx(ideal[prediction["cell"]], rel=0.03)
        assert prediction["speedup_oracle"] > prediction["speedup"]


def test_nothing_is_predicted_from_too_little():
    assert predict(dict(list(CELLS.items())[:2]), "x", "target-only", ANY) == []
    silent = {name: [block | {"x": block["x"] | {"engine_steps": None}} for block in blocks]
              for name, blocks in CELLS.items()}  # fmt: skip
    assert predict(silent, "x", "target-only", ANY) == []
    assert errors([]) is None
