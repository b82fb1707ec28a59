"""Whole sweeps over fake servers: what is measured, refused, resumed, and shown."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from tests.harness.conftest import write_scenario
from tests.plugin.release.example import manifest

VERISPEC = str(Path(sys.executable).parent / "verispec")


def verispec(*arguments, **environment):
    return subprocess.run(
        [VERISPEC, *map(str, arguments)], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )


def strict_json(path: Path):
    return json.loads(path.read_text(), parse_constant=pytest.fail)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """(scenario, result directory, what was printed) of a sweep that is only read."""
    scenario = write_scenario(tmp_path_factory.mktemp("finished"))
    out = scenario.parent / "out"
    fake = {"server": {"chunk_s": 0.01}}
    result = verispec("sweep", scenario, "--out", out, VERISPEC_FAKE=json.dumps(fake))
    assert result.returncode == 0, result.stderr
    return scenario, out, result


def test_a_sweep_leaves_everything_that_the_design_names(finished):
    _, out, result = finished
    assert str(out / "figures" / "speedup_vs_batch.png") in result.stdout
    assert "verdict" in result.stdout
    assert {p.name for p in out.iterdir()} == {
        "manifest.json", "requests.jsonl", "cells.csv", "summary.json", "figures", "report.html", "logs",
    }  # fmt: skip
    summary = strict_json(out / "summary.json")
    assert summary["complete"] is True
    one, two = summary["comparisons"]
    assert (one["concurrency"], two["concurrency"]) == (1, 2)
    assert one["speedup_low"] <= one["speedup"] <= one["speedup_high"]
    assert one["speedup_low"] > 0
    ours, baseline = (summary["arms"][arm][0]["median_tpot_ms"] for arm in ("ours", "target-only"))
    assert one["p50_tpot_ratio"] == pytest.approx(ours / baseline)
    assert one["p95_tpot_ratio"] is None
    assert one["greedy_identical"] is True
    assert one["valid"] is True
    assert one["tokens_per_step"] == pytest.approx(2.0)
    runs = pd.read_csv(out / "cells.csv")
    first = runs[runs.concurrency == 1]
    assert list(first.arm) == ["target-only", "ours", "ours", "target-only"]
    totals = first.groupby("arm")[["total_output_tokens", "duration"]].sum()
    rates = totals.total_output_tokens / totals.duration
    assert one["speedup"] == pytest.approx(rates["ours"] / rates["target-only"])
    lines = [json.loads(line) for line in (out / "requests.jsonl").read_text().splitlines()]
    assert len(lines) == runs.completed.sum() == 2 * 2 * 2 * 4
    manifest = strict_json(out / "manifest.json")
    assert manifest["servers"]["ours"]["settings"]["vllm_config.scheduler_config.max_num_seqs"] == 16
    assert "data:image/png;base64," in (out / "report.html").read_text()


def test_several_arms_share_one_baseline(fake_scenario, tmp_path):
    out = tmp_path / "out"
    ours = {"method": "custom_class", "model": "verispec.engine.Proposer", "num_speculative_tokens": 2}
    arms = {"wide": {"speculative": ours | {"num_speculative_tokens": 8}}, "narrow": {"speculative": ours}}
    load = {"concurrency": [2], "min_requests": 4}
    assert verispec("sweep", fake_scenario(arms=arms, load=load), "--out", out).returncode == 0
    runs = pd.read_csv(out / "cells.csv")
    assert list(runs.arm) == ["target-only", "wide", "narrow", "narrow", "wide", "target-only"]
    comparisons = strict_json(out / "summary.json")["comparisons"]
    assert [(c["arm"], c["num_speculative_tokens"], c["valid"]) for c in comparisons] == [
        ("wide", 8, True),
        ("narrow", 2, True),
    ]


def test_dry_run_shows_the_plan_and_starts_nothing(fake_scenario, tmp_path):
    result = verispec("sweep", fake_scenario(), "--dry-run", "--out", tmp_path / "out")
    assert result.returncode == 0
    assert "target-only ours ours target-only" in result.stdout
    assert "--speculative-config" in result.stdout
    assert not (tmp_path / "out").exists()


def test_different_greedy_answers_are_shown(fake_scenario, tmp_path):
    out = tmp_path / "out"
    assert verispec("sweep", fake_scenario(fake={"offset": 1}), "--out", out).returncode == 0
    comparison = strict_json(out / "summary.json")["comparisons"][0]
    assert comparison["greedy_identical"] is False
    assert comparison["greedy_different"] == comparison["greedy_compared"] == 8
    assert "Greedy answers that differ" in (out / "report.html").read_text()


def test_an_arm_that_never_drafts_is_invalid_not_even(fake_scenario, tmp_path):
    out = tmp_path / "out"
    result = verispec("sweep", fake_scenario(fake={"server": {"drafted": False}, "tokens_per_step": 1}), "--out", out)
    comparison = strict_json(out / "summary.json")["comparisons"][0]
    assert comparison["valid"] is False
    assert comparison["reasons"] == ["nothing was drafted: this is not a speculative arm"]
    assert "nothing was drafted" in result.stdout
    assert result.returncode == 1  # no cell is valid: the answer is no


def test_faults_of_the_arm_are_recorded_and_make_it_invalid(fake_scenario, tmp_path):
    path, out = fake_scenario(fake={"server": {"falls_back": "stalled"}}, load={"concurrency": [1]}), tmp_path / "out"
    assert verispec("sweep", path, "--out", out).returncode == 1
    (comparison,) = strict_json(out / "summary.json")["comparisons"]
    assert comparison["fallbacks"] == {"stalled": 12}
    assert 0 < comparison["target_only_share"] < 1
    (reason,) = comparison["reasons"]
    assert reason.startswith("the arm fell back to target-only decoding for ")
    assert reason.endswith("of the time: stalled (12)")


def test_a_fallback_that_is_part_of_how_the_arm_works_is_recorded_and_valid(fake_scenario, tmp_path):
    fake = {"server": {"falls_back": "acceptance-collapse"}}
    assert verispec("sweep", fake_scenario(fake=fake), "--out", tmp_path / "out").returncode == 0
    for comparison in strict_json(tmp_path / "out" / "summary.json")["comparisons"]:
        assert comparison["fallbacks"]["acceptance-collapse"] > 0
        assert comparison["valid"]


def test_contaminated_blocks_are_measured_again_with_other_prompts_and_flagged(fake_scenario, tmp_path):
    """With a stranger at work all along, every block is retried once, and the cell is invalid in the end."""
    out = tmp_path / "out"
    load = {"concurrency": [1], "min_requests": 4}
    fake = {"server": {"chunk_s": 0.005}}
    stranger = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        verispec("sweep", fake_scenario(fake=fake, max_foreign_cpu=0.01, load=load), "--out", out)
    finally:
        stranger.kill()
    runs = pd.read_csv(out / "cells.csv")
    assert runs.contaminated.all()
    assert sorted(runs.attempt) == [0] * 4 + [1] * 4
    lines = [json.loads(line) for line in (out / "requests.jsonl").read_text().splitlines()]
    assert len({line["prompt_id"] for line in lines}) == 16
    assert "other processes used" in strict_json(out / "summary.json")["comparisons"][0]["reasons"][0]


def test_unmatched_servers_are_refused_with_the_key(fake_scenario, tmp_path):
    """The recorded scenario is the same for both; the server's own word differs."""
    scenario = fake_scenario(fake={"arm_settings": {"scheduler_config": {"max_num_seqs": 8}}})
    result = verispec("sweep", scenario, "--out", tmp_path / "out")
    assert result.returncode == 2
    assert "vllm_config.scheduler_config.max_num_seqs: 16 against 8" in result.stderr


def test_a_server_that_dies_in_the_middle_ends_the_sweep_and_keeps_what_was_whole(fake_scenario, tmp_path):
    """Warm-up takes 3 answers, each run 4: the arm dies in its second run, which is not kept."""
    out, scenario = tmp_path / "out", fake_scenario(fake={"arm_dies_after": 8})
    result = verispec("sweep", scenario, "--out", out)
    assert result.returncode == 3
    assert "server ours died: RuntimeError: [core.py:1036] the engine is [/gone]" in result.stderr
    assert list(pd.read_csv(out / "cells.csv").arm) == ["target-only", "ours"]
    assert verispec("sweep", fake_scenario(), "--out", out, "--resume").returncode == 0
    assert strict_json(out / "summary.json")["comparisons"][0]["valid"] is True


def test_servers_that_answer_nothing_end_the_sweep_before_anything_is_measured(fake_scenario, tmp_path):
    prompts = tmp_path / "p.jsonl"
    prompts.write_text("".join(json.dumps({"prompt": f"{i} !503"}) + "\n" for i in range(40)))
    result = verispec(
        "sweep", fake_scenario(workloads=[{"name": "mine", "file": "p.jsonl"}]), "--out", tmp_path / "out"
    )
    assert result.returncode == 3
    assert "server target-only answers no request: http 503: overloaded" in result.stderr
    assert not (tmp_path / "out" / "cells.csv").exists()


def test_servers_that_changed_since_are_not_mixed_in(fake_scenario, tmp_path):
    """The scenario is the same, but the server itself now runs with another setting."""
    out = tmp_path / "out"
    assert verispec("sweep", fake_scenario(fake={"arm_dies_after": 8}), "--out", out).returncode == 3
    settings = {"scheduler_config": {"max_num_seqs": 16}, "cache_config": {"block_size": 64}}
    result = verispec("sweep", fake_scenario(fake={"server": {}, "settings": settings}), "--out", out, "--resume")
    assert result.returncode == 2
    assert "server target-only now differs" in result.stderr
    assert "vllm_config.cache_config.block_size" in result.stderr


def test_what_each_server_serves_is_recorded_and_other_weights_are_not_mixed_in(fake_scenario, tmp_path):
    """The same settings, the same directory: only the content of the weight files is another."""
    out = tmp_path / "out"
    first, other = (manifest(**changes).as_dict() for changes in ({}, {"target__weights_sha256": "0" * 64}))
    fake = {"server": {"release": first}, "arm_dies_after": 8}
    assert verispec("sweep", fake_scenario(fake=fake), "--out", out).returncode == 3
    servers = strict_json(out / "manifest.json")["servers"]
    assert (servers["target-only"]["release"], servers["ours"]["release"]) == (None, first)
    assert verispec("manifest", out, "--json").returncode == 0
    result = verispec("sweep", fake_scenario(fake={"server": {"release": other}}), "--out", out, "--resume")
    assert result.returncode == 2
    assert "server ours now differs" in result.stderr
    assert "defined_by.target.weights_sha256" in result.stderr


def test_a_server_that_dies_is_reported_with_its_log(fake_scenario, tmp_path):
    result = verispec("sweep", fake_scenario(fake={"die": "no KV cache"}), "--out", tmp_path / "out")
    assert result.returncode == 3
    assert "died while starting" in result.stderr
    assert "no KV cache" in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_sweep_resumes_to_the_same_plan(fake_scenario, tmp_path, number):
    out = tmp_path / "out"
    scenario = fake_scenario({"server": {"chunk_s": 0.01}}, load={"concurrency": [1], "min_requests": 3, "blocks": 3})
    sweep = subprocess.Popen([VERISPEC, "sweep", scenario, "--out", out], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: (out / "cells.csv").is_file())
    sweep.send_signal(number)
    _, said = sweep.communicate(timeout=60)
    kept = pd.read_csv(out / "cells.csv")
    assert 1 <= len(kept) < 6
    if number != signal.SIGKILL:
        assert sweep.returncode == 130
        assert f"go on with: verispec sweep {scenario} --resume --out {out}" in said
    result = verispec("sweep", scenario, "--out", out, "--resume")
    assert result.returncode == 0, result.stderr
    runs = pd.read_csv(out / "cells.csv")
    assert list(runs.run[: len(kept)]) == list(kept.run)
    assert list(runs.started[: len(kept)]) == list(kept.started)
    # A block that the kill cut in two is run again as a whole; nothing of what was measured is thrown away.
    whole = runs.groupby(["cell", "block", "attempt"]).arm.nunique() == 2
    assert len(runs) == runs.run.nunique() == 2 * whole.sum() + (len(kept) % 2)
    assert whole.groupby(["cell", "block"]).any().sum() == 3
    assert len((out / "requests.jsonl").read_text().splitlines()) == runs.completed.sum()


def wait_for(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_changed_scenario_is_not_mixed_into_old_results(finished, tmp_path):
    _, out, _ = finished
    before = (out / "cells.csv").read_text()
    changed = tmp_path / "tiny.yaml"
    changed.write_text(finished[0].read_text() + "seed: 1\n")
    result = verispec("sweep", changed, "--out", out, "--resume")
    assert result.returncode == 2
    assert "belongs to another run" in result.stderr
    assert "scenario.seed" in result.stderr
    assert (out / "cells.csv").read_text() == before


def test_results_are_not_overwritten_without_resume(finished):
    result = verispec("sweep", finished[0], "--out", finished[1])
    assert result.returncode == 2
    assert "add --resume" in result.stderr


def test_report_redraws_from_raw_requests(finished, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(finished[1], out)
    before = strict_json(out / "summary.json")
    for name in ("summary.json", "report.html", "figures/speedup_vs_batch.png"):
        (out / name).unlink()
    assert verispec("report", out).returncode == 0
    assert strict_json(out / "summary.json") == before
    assert (out / "figures" / "speedup_vs_batch.png").stat().st_size > 10_000
    assert (out / "report.html").is_file()


def test_failed_requests_make_a_cell_invalid_and_are_kept(fake_scenario, tmp_path):
    prompts = tmp_path / "p.jsonl"
    faults = ("!truncate", "fine")
    prompts.write_text("".join(json.dumps({"prompt": f"{i} {faults[i % 2]}"}) + "\n" for i in range(40)))
    out = tmp_path / "out"
    scenario = fake_scenario(workloads=[{"name": "mine", "file": "p.jsonl"}], warmup_requests=0)
    result = verispec("sweep", scenario, "--out", out)
    summary = strict_json(out / "summary.json")
    assert not any(comparison["valid"] for comparison in summary["comparisons"])
    errors = [json.loads(line)["error"] for line in (out / "requests.jsonl").read_text().splitlines()]
    assert set(errors) == {"truncated: the stream ended after 2 tokens without a finish reason", None}
    failed = sum(c["reasons"][0] == f"{n} requests failed" for c in summary["comparisons"] for n in range(1, 17))
    assert failed == 2
    assert result.returncode == 1
    assert "requests failed" in result.stdout
