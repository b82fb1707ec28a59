"""`verispec verify` over fake servers whose laws are known: verdicts, exit codes, resume."""

import json
import re
import signal
import subprocess

import pytest

from tests.harness.conftest import write_scenario
from tests.harness.sweep.test_sweep import VERISPEC, strict_json, verispec, wait_for

SETTINGS = {"prompts": ["a", "b"], "completions": 600, "tokens": 5, "max_tv": 0.06, "concurrency": 50}
FAST = {"chunk_s": 0}


def law_sections(arms=("ours",), **changes):
    """The sections of a pure exactness scenario; further arguments change `exactness`."""
    ours = {"method": "custom_class", "model": "verispec.engine.Proposer", "num_speculative_tokens": 2}
    arms = {arm: {"speculative": ours} for arm in arms}
    return {"arms": arms, "workloads": None, "load": None, "exactness": SETTINGS | changes}


@pytest.fixture
def law_scenario(fake_scenario):
    """Writes a scenario; `fake` is VERISPEC_FAKE."""

    def write(fake=None, **changes):
        return fake_scenario({"server": FAST} | (fake or {}), **law_sections(**changes))

    return write


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """(scenario, result directory, what was printed) of a run of two arms under two samplings that is only read."""
    samplings = [{"temperature": 1.0}, {"temperature": 0.8, "top_k": 40, "top_p": 0.9}]
    sections = law_sections(("ours", "theirs"), sampling=samplings)
    scenario = write_scenario(tmp_path_factory.mktemp("finished"), **sections)
    out = scenario.parent / "out"
    result = verispec("verify", scenario, "--out", out, VERISPEC_FAKE=json.dumps({"server": FAST}))
    return scenario, out, result


def test_exact_arms_are_closed_and_every_figure_is_kept(finished):
    _, out, result = finished
    assert result.returncode == 0, result.stdout + result.stderr
    assert len(re.findall(r"TV \[floor\]|closed *\n", result.stdout)) == 1 + 4
    assert "0.0485" in result.stdout
    summary = strict_json(out / "verify.json")
    assert summary["closed"] is True
    assert [(t["arm"], t["sampling"]["top_k"]) for t in summary["tests"]] == [
        ("ours", -1),
        ("ours", 40),
        ("theirs", -1),
        ("theirs", 40),
    ]
    test = summary["tests"][0]
    assert (test["completions"], test["baseline_completions"], test["tested_tokens"]) == (600, 1200, 2400)
    assert (test["rounds"], test["draft_tokens"], test["accepted_tokens"]) == (1200, 2400, 1200)
    assert (test["drafted_share"], test["acceptance_rate"]) == (1.0, 0.5)
    assert test["tv"] <= test["tv_upper_95"] <= 0.06
    prompt = test["prompts"][0]
    assert (prompt["pairs"][0], prompt["pairs"][-1]) == ([0, 0], None)
    assert sum(prompt["arm"]) == pytest.approx(1)
    assert prompt["baseline"][0] == pytest.approx(0.36, abs=0.05)
    lines = [json.loads(line) for line in (out / "completions.jsonl").read_text().splitlines()]
    assert sum(len(line["completions"]) for line in lines) == 2 * (256 + 2 * 600 + 2 * 600)


def test_every_server_has_its_own_random_numbers(finished):
    """Else two servers could draw the same tokens, and they would not be two samples."""
    assert len(server_seeds(finished[1])) == 3


def server_seeds(out):
    servers = strict_json(out / "manifest.json")["servers"].values()
    return {server["argv"][server["argv"].index("--seed") + 1] for server in servers}


def test_a_changed_scenario_is_not_mixed_into_old_results(finished, tmp_path):
    scenario, out, _ = finished
    assert "add --resume" in verispec("verify", scenario, "--out", out).stderr
    changed = write_scenario(tmp_path, **law_sections(tokens=6))
    result = verispec("verify", changed, "--out", out, "--resume")
    assert result.returncode == 2
    assert "belongs to another run" in result.stderr


def test_report_says_that_a_verification_is_no_sweep(finished):
    result = verispec("report", finished[1])
    assert result.returncode == 2
    assert "is no sweep; what `verispec verify` found is in" in result.stderr


def test_a_biased_arm_is_found_and_the_answer_is_no(law_scenario, tmp_path):
    result = verispec("verify", law_scenario({"arm_law": [0.5, 0.3, 0.2]}), "--out", tmp_path / "out", "--json")
    assert result.returncode == 1
    (test,) = json.loads(result.stdout)["tests"]
    assert test["verdict"] == "deviates"
    assert "its law is not the target's" in test["reasons"][0]


def test_nothing_drafted_is_no_pass(law_scenario, tmp_path):
    result = verispec("verify", law_scenario({"server": FAST | {"drafted": False}}), "--out", tmp_path / "out")
    assert result.returncode == 1
    assert "nothing was drafted: this says nothing of the verifier" in result.stdout


def test_too_little_drafted_is_no_pass(law_scenario, tmp_path):
    result = verispec("verify", law_scenario({"server": FAST | {"rounds": 1}}, tokens=9), "--out", tmp_path / "out")
    assert result.returncode == 1
    assert "only 25% of the tested tokens came from a step with a draft, 50% are asked for" in result.stdout


def test_too_few_completions_for_the_bound_are_no_pass_and_enough_are_named(law_scenario, tmp_path):
    result = verispec("verify", law_scenario(completions=100), "--out", tmp_path / "out")
    assert result.returncode == 1
    assert "no deviation was found, but the bound" in result.stdout
    assert "completions an exact arm passes 95 times in 100" in result.stdout


def test_dry_run_shows_the_plan_and_starts_nothing(law_scenario, tmp_path):
    result = verispec("verify", law_scenario(), "--dry-run", "--out", tmp_path / "out")
    assert result.returncode == 0
    assert "1456  target-only" in result.stdout
    assert "600  ours" in result.stdout
    assert "--speculative-config" in result.stdout
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_run_goes_on_and_keeps_what_was_made(law_scenario, tmp_path, number):
    out, scenario = tmp_path / "out", law_scenario({"server": {"chunk_s": 0.02}})
    chunks = out / "completions.jsonl"
    run = subprocess.Popen([VERISPEC, "verify", scenario, "--out", out], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: chunks.is_file() and chunks.read_text().count("\n") >= 3)
    run.send_signal(number)
    _, said = run.communicate(timeout=60)
    seeds = server_seeds(out)
    kept = chunks.read_text()
    kept = kept[: kept.rindex("\n") + 1]
    if number == signal.SIGTERM:
        assert run.returncode == 130
        assert f"go on with: verispec verify {scenario} --resume --out {out}" in said
    assert not (out / "verify.json").exists()
    result = verispec("verify", scenario, "--out", out, "--resume")
    assert result.returncode == 0, result.stderr
    assert not seeds & server_seeds(out)  # else it would draw once more what it already has
    whole = chunks.read_text()
    assert whole.startswith(kept)
    names = [json.loads(line)["chunk"] for line in whole.splitlines()]
    assert len(names) == len(set(names))
    assert strict_json(out / "verify.json")["tests"][0]["completions"] == 600
    again = verispec("verify", scenario, "--out", out, "--resume", VERISPEC_FAKE=json.dumps({"die": "not started"}))
    assert again.returncode == 0, again.stderr


def test_a_server_that_dies_ends_the_run_and_keeps_what_was_whole(law_scenario, tmp_path):
    out = tmp_path / "out"
    result = verispec("verify", law_scenario({"arm_dies_after": 150}), "--out", out)
    assert result.returncode == 3
    assert "server ours" in result.stderr
    assert "Traceback" not in result.stderr
    assert '"test/s0/ours/0"' in (out / "completions.jsonl").read_text()
    assert verispec("verify", law_scenario(), "--out", out, "--resume").returncode == 0


def test_a_failed_completion_ends_the_run_with_the_servers_words(law_scenario, tmp_path):
    result = verispec("verify", law_scenario(prompts=["!503"]), "--out", tmp_path / "out")
    assert result.returncode == 3
    assert "server target-only: a completion failed: http 503: overloaded" in result.stderr


def test_a_scenario_serves_the_verbs_whose_sections_it_has(law_scenario, fake_scenario):
    result = verispec("sweep", law_scenario(), "--dry-run")
    assert result.returncode == 2
    assert "has no workloads and no load, so there is nothing to sweep" in result.stderr
    result = verispec("verify", fake_scenario(), "--dry-run")
    assert result.returncode == 2
    assert "has no section exactness and no section parity, so there is nothing to verify" in result.stderr
    both = fake_scenario(exactness=SETTINGS)
    assert verispec("sweep", both, "--dry-run").returncode == verispec("verify", both, "--dry-run").returncode == 0
