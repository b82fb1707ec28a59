"""Planted outcomes: each leads to the decision that the rules ask for."""

import json

import pytest

from tests.harness.ledger.planted import cell, sweep, verification
from tests.harness.sweep.test_sweep import verispec
from tests.plugin.release.example import MACHINE, SERVING, facts, manifest
from verispec.release import Manifest
from verispec_bench.errors import UnusableInput
from verispec_bench.ledger import decide
from verispec_bench.ledger.performance import Thresholds

TARGET_ONLY = "OMP_NUM_THREADS=2 VERISPEC_DISABLE=1 vllm serve '/models/my target' --max-num-seqs 16"


def decided(
    tmp_path, *cells, law=None, parity=None, verified=True, thresholds=None, release_file=None, only=(), **options
):
    directory = sweep(tmp_path / "sweep", *(cells or [cell()]), **options)
    found = [verification(tmp_path / "verify", law, parity)] if verified else []
    return decide(directory, None, found, thresholds or Thresholds(), release_file, only)


def states(decision):
    return {ledger.name: ledger.state for ledger in decision.ledgers}


def test_three_closed_ledgers_adopt(tmp_path):
    decision = decided(tmp_path)
    assert decision.verdict == "adopt"
    assert states(decision) == {"probability": "closed", "state": "closed", "performance": "closed"}


def test_correct_but_slower_stays_an_experiment(tmp_path):
    decision = decided(tmp_path, cell("a", 0.8, 0.7, 0.9))
    assert (decision.verdict, states(decision)["performance"]) == ("experiment", "broken")


def test_faster_but_biased_is_approximate(tmp_path):
    planted = {"verdict": "deviates", "reasons": ["its law is not the target's"], "tv_upper_95": 0.2}
    decision = decided(tmp_path, law=planted)
    assert (decision.verdict, states(decision)["probability"]) == ("approximate", "broken")


def test_an_approximate_rule_is_approximate_whatever_was_tested(tmp_path):
    assert decided(tmp_path, verifier__rule_is_exact=False, verified=False).verdict == "approximate"


def test_leaked_state_blocks_even_the_fast(tmp_path):
    leaked = {"verdict": "differs", "closed": False, "unexplained": 7, "identical": 317, "reasons": ["7 differ"]}
    decision = decided(tmp_path, parity=leaked)
    assert (decision.verdict, states(decision)["state"]) == ("blocked", "broken")


@pytest.mark.parametrize(
    "planted",
    [
        {"verified": False},
        {"complete": False},
        {"law": {"verdict": "too wide", "reasons": ["the bound is too wide"]}},
        {"parity": {"draft_tokens": 2100}},
        {"drafter__options": {"min_match": 4}},
        {"versions": {"vllm": "0.33.0", "torch": "2.13.0", "transformers": "5.19.0", "verispec": "0.1.0"}},
    ],
)
def test_missing_or_stale_evidence_leaves_a_ledger_open(tmp_path, planted):
    """Another drafter, another vLLM: what was verified of the other contract does not count."""
    decision = decided(tmp_path, **planted)
    assert decision.verdict == "experiment"
    assert "open" in states(decision).values()
    for ledger in decision.ledgers:
        assert all(entry.would_close for entry in ledger.entries if entry.state == "open")


@pytest.mark.parametrize("change", ["machine", "limits"])
def test_what_was_measured_elsewhere_is_open(tmp_path, change):
    machine = MACHINE.model_copy(update={"threads": 64}) if change == "machine" else MACHINE
    serving = SERVING.model_copy(update={"max_num_seqs": 64}) if change == "limits" else SERVING
    other = tmp_path / "release.json"
    other.write_text(json.dumps(Manifest.of(facts(), serving, machine, None).as_dict()), encoding="utf-8")
    decision = decided(tmp_path, release_file=other)
    assert (decision.verdict, states(decision)["performance"]) == ("experiment", "open")


def test_invalid_cells_are_not_part_of_the_envelope(tmp_path):
    decision = decided(tmp_path, cell("a"), cell("b", valid=False, reasons=["prefix-cache hits"]))
    assert {found["cell"]: found["inside"] for found in decision.envelope} == {"a": True, "b": False}
    assert decision.envelope[1]["because"] == ["invalid: prefix-cache hits"]
    alone = decided(tmp_path, cell("b", valid=False, reasons=["prefix-cache hits"]))
    assert (alone.verdict, states(alone)["performance"]) == ("experiment", "broken")


def test_a_tail_that_is_not_known_is_not_taken_for_a_good_one(tmp_path):
    decision = decided(tmp_path, cell("a", p95_tpot_ratio=None))
    assert [(found["inside"], found["because"]) for found in decision.envelope] == [
        (False, ["p95 TPOT is not known, of too few requests"])
    ]
    assert (decision.verdict, states(decision)["performance"]) == ("experiment", "broken")


def test_thresholds_are_the_users(tmp_path):
    cells = (cell("a", 1.5, 1.2, 1.8), cell("b", 1.5, 1.2, 1.8, p95_tpot_ratio=1.2))
    inside = lambda *limits: [c["inside"] for c in decided(tmp_path, *cells, thresholds=Thresholds(*limits)).envelope]  # noqa: E731
    assert inside() == [True, False]
    assert inside(1.3) == [False, False]
    assert inside(1.0, 1.3) == [True, True]


def test_each_region_has_its_verdict_and_the_server_to_deploy(tmp_path):
    cells = (cell("a", workload="code"), cell("b", 0.8, 0.7, 0.9, workload="chat"), cell("c", workload="mixed"))
    decision = decided(tmp_path, *cells)
    found = [(region.verdict, [where.split(",")[0] for where in region.where]) for region in decision.regions]
    assert found == [("adopt", ["code", "mixed"]), ("experiment", ["chat"])]
    assert [region.deploy for region in decision.regions] == [decision.deploy, TARGET_ONLY]


def test_what_is_not_adopted_is_served_by_the_target_alone(tmp_path):
    [region] = decided(tmp_path, cell("a"), cell("b"), verified=False).regions
    assert (region.verdict, len(region.where), region.deploy) == ("experiment", 2, TARGET_ONLY)


def test_a_decision_may_be_about_some_cells_alone(tmp_path):
    cells = (cell("chat/c1/t0"), cell("chat/c8/t0", 0.8, 0.7, 0.9), cell("code/c8/t0"))
    assert decided(tmp_path, *cells, only=["*/c1/*", "code/*"]).verdict == "adopt"
    assert decided(tmp_path, *cells, only=["chat/c8/*"]).verdict == "experiment"
    with pytest.raises(UnusableInput, match="no cell is called code/c1; it has chat/c1/t0, chat/c8/t0, code/c8/t0"):
        decided(tmp_path, *cells, only=["code/c1"])


def test_an_a_a_control_is_no_win(tmp_path):
    assert decided(tmp_path, cell("a", 1.0, 0.93, 1.08)).verdict == "experiment"


def test_the_deployment_is_the_server_that_was_measured(tmp_path):
    assert decided(tmp_path).deploy == (
        "VLLM_PLUGINS=verispec OMP_NUM_THREADS=2 "
        "vllm serve '/models/my target' --max-num-seqs 16 --speculative-config '{\"a\": 1}'"
    )


def test_a_sweep_over_server_settings_is_no_decision_about_one(tmp_path):
    directory = sweep(tmp_path / "sweep", cell())
    file = directory / "manifest.json"
    found = json.loads(file.read_text())
    servers = {f"{name}-s8": server for name, server in found["servers"].items()}
    file.write_text(json.dumps(found | {"servers": servers}))
    with pytest.raises(UnusableInput, match="several server settings"):
        decide(directory, "x", [], Thresholds())


def test_an_arm_must_be_named_rightly(tmp_path):
    directory = sweep(tmp_path / "sweep", cell())
    with pytest.raises(UnusableInput, match="no arm 'y'; it has x"):
        decide(directory, "y", [], Thresholds())
    with pytest.raises(UnusableInput, match=r"holds no verify\.json"):
        decide(directory, "x", [directory], Thresholds())


def test_the_exit_code_is_the_answer(tmp_path):
    directory, verified = sweep(tmp_path / "sweep", cell()), verification(tmp_path / "verify")
    yes = verispec("adopt", directory, "--verification", verified, "--json")
    assert yes.returncode == 0
    assert json.loads(yes.stdout)["decision"] == "adopt"
    no = verispec("adopt", directory)
    assert no.returncode == 1
    assert "EXPERIMENT: x" in no.stdout
    assert "to close it: verispec verify SCENARIO" in no.stdout
    assert manifest().contract_sha256[:12] in no.stdout
