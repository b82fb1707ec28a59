"""`verispec verify` with greedy parity over fake servers: what is printed, exit codes, resume."""

import json
import signal
import subprocess

import pytest

from tests.harness.exactness.test_verify import law_sections
from tests.harness.sweep.test_sweep import VERISPEC, strict_json, verispec, wait_for

PARITY = {"prompts": 12, "tokens": 12, "concurrency": 2, "envelope_prompts": 6}
FAST = {"chunk_s": 0}
TIES = {"ties": [7]}


@pytest.fixture
def parity_scenario(fake_scenario):
    """Writes a scenario of parity alone, or with the law; `fake` is VERISPEC_FAKE."""

    def write(fake=None, law=False, **changes):
        sections = law_sections() if law else law_sections() | {"exactness": None}
        return fake_scenario({"server": FAST, "greedy": TIES} | (fake or {}), **sections, parity=PARITY | changes)

    return write


def lines_of(result):
    """What was printed, without the table's spacing."""
    return [" ".join(line.split()) for line in result.stdout.splitlines()]


def test_near_ties_are_printed_with_both_tokens_and_gaps_and_the_answer_is_yes(parity_scenario, tmp_path):
    out = tmp_path / "out"
    result = verispec("verify", parity_scenario({"arm_greedy": {"flips": [7]}}), "--out", out)
    assert result.returncode == 0, result.stdout + result.stderr
    printed = lines_of(result)
    assert "tiny: greedy answers against target-only, dtype unknown" in printed
    assert "ours 12 0 12 0 50% 0.0001 0.00% closed" in printed
    summary = strict_json(out / "verify.json")
    assert (summary["closed"], summary["tests"]) == (True, None)
    (arm,) = summary["parity"]["arms"]
    first = arm["divergences"][0]
    ours, theirs = first["baseline"], first["arm"]
    shown = next(line for line in printed if f"near-tie ours, {first['prompt']}:" in line)
    assert f"token {first['position']} is {ours} ' t{ours}', and {theirs} ' t{theirs}'; gap" in shown
    phases = {"answers", "rows", "rows-of-few", "rows-alone", "passes", "replays"}
    assert {chunk["phase"] for chunk in kept_chunks(out)} == phases


def kept_chunks(out):
    names = [json.loads(line)["chunk"] for line in (out / "answers.jsonl").read_text().splitlines()]
    assert len(names) == len(set(names))
    return [{"phase": name.split("/")[0], "name": name} for name in names]


def test_an_unexplained_token_is_printed_and_the_answer_is_no(parity_scenario, tmp_path):
    result = verispec("verify", parity_scenario({"arm_greedy": {"flips": [3]}}), "--out", tmp_path / "out")
    assert result.returncode == 1
    printed = lines_of(result)
    assert any(line.startswith("differs ours:") for line in printed)
    assert any(
        line.startswith("unexplained ours, ") and "gap 1 on target-only, 1 on the arm" in line for line in printed
    )


def test_other_text_of_the_same_tokens_is_printed_with_both_texts(parity_scenario, tmp_path):
    result = verispec("verify", parity_scenario({"arm": {"text_end": "!!"}}), "--out", tmp_path / "out")
    assert result.returncode == 1
    printed = [line for line in lines_of(result) if line.startswith("unexplained ours, ")]
    assert len(printed) == 12
    assert all(": text ' t" in line and line.endswith("!!'") for line in printed)


def test_half_precision_is_read_back_named_and_reported_as_a_rate(parity_scenario, tmp_path):
    settings = {"scheduler_config": {"max_num_seqs": 16}, "model_config": {"dtype": "torch.bfloat16"}}
    scenario = parity_scenario({"settings": settings})
    result = verispec("verify", scenario, "--out", tmp_path / "out")
    assert result.returncode == 0, result.stdout + result.stderr
    printed = lines_of(result)
    assert "tiny: greedy answers against target-only, bfloat16" in printed
    assert not any(line.startswith("unexplained") for line in printed)
    parity = json.loads((tmp_path / "out" / "verify.json").read_text())["parity"]
    assert (parity["reported_as"], parity["dtype"], parity["closed"]) == ("rate", "bfloat16", True)
    assert [arm["verdict"] for arm in parity["arms"]] == ["rate"]


def test_law_and_parity_are_verified_in_one_run(parity_scenario, tmp_path):
    scenario, out = parity_scenario(law=True), tmp_path / "out"
    plan = verispec("verify", scenario, "--dry-run", "--json")
    assert json.loads(plan.stdout)["greedy_prompts"] == dict.fromkeys(
        ("code", "chat", "multilingual", "json", "stop", "long"), 2
    )
    assert json.loads(plan.stdout)["completions"]["ours"] == 600
    result = verispec("verify", scenario, "--out", out)
    assert result.returncode == 0, result.stdout + result.stderr
    summary = strict_json(out / "verify.json")
    assert (summary["tests"][0]["verdict"], summary["parity"]["arms"][0]["verdict"]) == ("closed", "closed")


def test_a_server_that_dies_in_the_middle_ends_the_run_and_a_resumed_one_finishes_it(parity_scenario, tmp_path):
    out = tmp_path / "out"
    result = verispec("verify", parity_scenario({"arm_dies_after": 6}), "--out", out)
    assert result.returncode == 3
    assert "server ours" in result.stderr
    assert "Traceback" not in result.stderr
    before = kept_chunks(out)
    assert "answers/ours/0" in {chunk["name"] for chunk in before}
    answers = out / "answers.jsonl"
    whole = answers.read_text()
    answers.write_text('{"chunk": 1}\n' + whole)
    result = verispec("verify", parity_scenario(), "--out", out, "--resume")
    assert result.returncode == 2
    assert "answers.jsonl:1: damaged; choose another --out" in result.stderr
    answers.write_text(whole)
    result = verispec("verify", parity_scenario(), "--out", out, "--resume")
    assert result.returncode == 0, result.stdout + result.stderr
    assert kept_chunks(out)[: len(before)] == before
    again = verispec("verify", parity_scenario({"die": "not started"}), "--out", out, "--resume")
    assert again.returncode == 0, again.stderr


def test_ctrl_c_says_how_to_go_on(parity_scenario, tmp_path):
    out, scenario = tmp_path / "out", parity_scenario({"server": {"chunk_s": 0.2}})
    run = subprocess.Popen([VERISPEC, "verify", scenario, "--out", out], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: (out / "answers.jsonl").is_file())
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 130
    assert f"go on with: verispec verify {scenario} --resume --out {out}" in said


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prompts": 900}, "parity.prompts: the corpus has 324 prompts, 900 were asked for"),
        ({"tokens": 4000}, "server.max_model_len is 2048: too short for the longest prompts of parity"),
    ],
)
def test_a_mistake_in_the_section_is_refused_before_a_server_starts(parity_scenario, changes, message):
    result = verispec("verify", parity_scenario({"die": "not started"}, **changes))
    assert result.returncode == 2
    assert message in result.stderr
