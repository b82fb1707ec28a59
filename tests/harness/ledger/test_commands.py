"""`adopt` of a scenario and `gate`, from servers to exit code, over fake servers that are fast, slow or biased."""

import json

import pytest

from tests.harness.exactness.test_verify import SETTINGS
from tests.harness.sweep.test_sweep import strict_json, verispec
from tests.plugin.release.example import manifest

FAST = {"chunk_s": 0.01, "release": manifest().as_dict()}
LAW = SETTINGS | {"completions": 300}


@pytest.fixture
def gated(fake_scenario, tmp_path):
    """Runs the gate once more, on servers as said: its exit code, what it printed, and what it found."""

    def run(name, fake=None, *options, **changes):
        scenario = fake_scenario(
            {"server": FAST} | (fake or {}),
            **{"exactness": LAW, "load": {"concurrency": [2], "min_requests": 6, "blocks": 4}} | changes,
        )
        out = tmp_path / name
        result = verispec("gate", scenario, "--out", out, *options)
        return result, strict_json(out / "gate.json") if (out / "gate.json").is_file() else None

    return run


def test_a_gate_passes_a_sound_server_and_writes_the_next_reference(gated, tmp_path):
    result, found = gated("first")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "keep" in result.stdout
    assert found["state"] == "closed"
    again, _ = gated("second", None, "--reference", tmp_path / "first")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "as fast as the reference" in again.stdout


def test_a_gate_fails_a_biased_server(gated):
    result, found = gated("biased", {"arm_law": [0.5, 0.3, 0.2]})
    assert result.returncode == 1, result.stdout + result.stderr
    assert found["state"] == "broken"


def test_a_gate_fails_a_server_that_has_become_slow(gated, tmp_path):
    _, found = gated("first")
    before = tmp_path / "before.json"
    faster = {key: found[key] * 10 for key in ("speedup", "speedup_low", "speedup_high")}
    before.write_text(json.dumps(found | faster), encoding="utf-8")
    result, _ = gated("now", None, "--reference", before)
    assert result.returncode == 1
    assert "broken" in result.stdout


def test_a_gate_that_cannot_tell_is_no_failure(gated):
    result, found = gated("idle", {"server": FAST | {"drafted": False}})
    assert (result.returncode, found["state"]) == (3, "open"), result.stdout + result.stderr


@pytest.mark.parametrize(
    "changes",
    [
        {"load": {"concurrency": [1, 2]}},
        {"arms": {}, "control": True},
        {"axes": {"max_num_seqs": [8]}},
        {"arms": {"ours": {"speculative": {"method": "ngram", "num_speculative_tokens": 2}, "plugin": False}}},
    ],
)
def test_a_gate_of_something_else_is_refused_before_anything_is_started(gated, changes):
    result, found = gated("other", **changes)
    assert (result.returncode, found) == (2, None)
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_gate_measures_anew(gated):
    assert gated("once")[0].returncode == 0
    again, _ = gated("once")
    assert again.returncode == 2
    assert "holds a finished gate" in again.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--arm", "theirs"), "choose one with --arm: ours"),
        (("--manifest", "no.json"), "no.json: no such file"),
    ],
)
def test_adopt_refuses_what_it_cannot_use_before_it_measures(fake_scenario, tmp_path, options, said):
    result = verispec("adopt", fake_scenario(), "--out", tmp_path / "out", *options)
    assert (result.returncode, said in result.stderr) == (2, True), result.stderr
    assert not (tmp_path / "out").exists()


def test_adopt_of_a_scenario_that_is_not_there_says_so():
    assert "no/such.yaml: no such scenario file" in verispec("adopt", "no/such.yaml").stderr


def test_adopt_measures_a_scenario_and_puts_its_decision_into_the_report(fake_scenario, tmp_path):
    scenario = fake_scenario({"server": FAST}, exactness=LAW, load={"concurrency": [2], "min_requests": 6, "blocks": 4})
    result = verispec("adopt", scenario, "--out", tmp_path / "out", "--report", "--json")
    decision = json.loads(result.stdout)
    assert result.returncode == (0 if decision["decision"] == "adopt" else 1), result.stderr
    assert decision["ledgers"]["probability"]["entries"][1]["state"] == "closed"
    page = (tmp_path / "out" / "sweep" / "report.html").read_text(encoding="utf-8")
    assert f'Decision: ours: <span class="{decision["decision"]}">' in page
    assert decision["ledgers"]["state"]["entries"][0]["claim"] in page


def test_a_decision_about_another_summary_is_not_shown(fake_scenario, tmp_path):
    scenario = fake_scenario({"server": FAST}, load={"concurrency": [2], "min_requests": 4})
    verispec("adopt", scenario, "--out", tmp_path / "out", "--report")
    kept, page = (tmp_path / "out" / "sweep" / name for name in ("decision-ours.json", "report.html"))
    assert verispec("report", tmp_path / "out" / "sweep").returncode == 0
    assert "Decision:" in page.read_text(encoding="utf-8")
    kept.write_text(json.dumps(strict_json(kept) | {"summary_sha256": "of another"}), encoding="utf-8")
    assert verispec("report", tmp_path / "out" / "sweep").returncode == 0
    assert "Decision:" not in page.read_text(encoding="utf-8")
    kept.write_text("damaged", encoding="utf-8")
    assert verispec("report", tmp_path / "out" / "sweep").returncode == 0


def test_out_is_for_scenarios(tmp_path):
    result = verispec("adopt", tmp_path, "--out", tmp_path / "out")
    assert (result.returncode, "--out is for a scenario" in result.stderr) == (2, True)
