"""The lab comes out as the mission says, and says no when the rule is wrong."""

import json

import pytest
import torch

from tests.harness.sweep.test_sweep import verispec
from verispec.coupling import residual
from verispec_bench import lab


@pytest.fixture(scope="module")
def found():
    return lab.run_lab()


def test_enumerated_laws(found):
    check = found["sequence_distribution_check"]
    assert check["tv_enumerated_exact"] == pytest.approx(0, abs=1e-12)
    assert check["tv_enumerated_wrong"] == pytest.approx(0.140257, abs=5e-7)
    assert lab.TARGET.sequence_law().sum().item() == pytest.approx(1)
    torch.testing.assert_close(lab.enumerated_law(residual), lab.TARGET.sequence_law())


def test_sampled_laws(found):
    check = found["sequence_distribution_check"]
    assert check["tv_baseline_vs_exact"] < 0.02
    assert check["tv_baseline_vs_wrong"] == pytest.approx(0.1403, abs=0.005)
    assert found["passed"] is True


def test_more_candidates_are_kept_more_often_and_leave_the_law(found):
    """Enumerated: .8, .82, .838, .8542."""
    cases = found["several_paths"]
    assert [case["paths"] for case in cases] == [1, 2, 3, 4]
    assert [case["kept"] for case in cases] == pytest.approx([0.8, 0.82, 0.838, 0.8542], abs=0.005)
    assert max(case["tv_to_target"] for case in cases) < 0.005


def test_worked_example(found):
    first = found["first_step"]
    assert first["acceptance"] == pytest.approx([5 / 6, 1, 2 / 3])
    assert (first["overlap"], first["total_variation"]) == pytest.approx((0.8, 0.2))
    assert first["residual"] == pytest.approx([0, 1, 0])
    assert first["wrong_repair_law"] == pytest.approx([0.60, 0.16, 0.24])


def test_identical_uniforms(found):
    assert found["identical_uniform_100_faces"]["coupled_match_rate"] == 1
    assert 0.007 < found["identical_uniform_100_faces"]["independent_match_rate"] < 0.013


def test_speed_model(found):
    wins, loses = found["speed_model"]["code_assistant"], found["speed_model"]["negative_control"]
    assert wins["expected_tokens"] == pytest.approx(3.233, abs=5e-4)
    assert (wins["round_ms"], wins["speedup"]) == pytest.approx((26.5, 2.44), abs=5e-3)
    assert (loses["round_ms"], loses["speedup"]) == pytest.approx((14.1, 0.67), abs=5e-3)


def test_the_verb_prints_json_and_exits_with_the_answer():
    result = verispec("lab", "--json", "--trials", "20000")
    found = json.loads(result.stdout)
    assert set(found) >= {"assumptions", "first_step", "sequence_distribution_check", "identical_uniform_100_faces",
                          "speed_model"}  # fmt: skip
    assert (result.returncode, found["passed"]) == (0, True)


def test_a_biased_rule_fails_the_lab(monkeypatch):
    sample = lab.speculative_sequences
    monkeypatch.setattr(lab, "speculative_sequences", lambda n, g, wrong_repair=False: sample(n, g, wrong_repair=True))
    assert lab.run_lab(trials=20_000)["passed"] is False
