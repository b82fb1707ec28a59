"""Sweeps over fake servers, beyond the closed loop of one start: arrivals, lengths, restarts, controls, searches."""

import json

import pandas as pd
import pytest

from tests.harness.sweep.test_sweep import strict_json, verispec

ONE = {"concurrency": [1], "min_requests": 4}


def swept(path, out, *options, code=0):
    """The summary and the runs of a sweep."""
    result = verispec("sweep", path, "--out", out, *options)
    assert result.returncode == code, result.stderr
    return strict_json(out / "summary.json"), pd.read_csv(out / "cells.csv"), result.stdout


def requests(out):
    return [json.loads(line) for line in (out / "requests.jsonl").read_text().splitlines()]


def test_an_open_loop_sends_at_its_rate_and_is_judged_by_latency(fake_scenario, tmp_path):
    load = {"request_rate": [40.0], "min_requests": 6}
    summary, runs, shown = swept(fake_scenario(load=load), tmp_path / "out")
    (comparison,) = summary["comparisons"]
    assert (comparison["concurrency"], comparison["request_rate"]) == (None, 40.0)
    assert comparison["speedup_kind"] == "mean_e2el"
    assert comparison["valid"] is True
    assert "mean end-to-end latency" in shown
    due = {}
    for line in requests(tmp_path / "out"):
        due.setdefault(line["run"], []).append(line["scheduled_s"])
    by_block = {}
    for run, times in due.items():
        by_block.setdefault(run.split("/b")[1].split("/")[0], []).append(times)
    for times in by_block.values():
        assert times[0] == times[1]  # both arms
        assert times[0] == sorted(times[0])
    assert by_block["0"][0] != by_block["1"][0]
    assert set(runs.request_rate) == {40.0}


def test_a_trace_is_replayed_in_its_own_time_with_its_own_lengths(fake_scenario, tmp_path):
    lines = [{"timestamp": 40 * i, "input_length": 5, "output_length": 3 + i % 2} for i in range(13)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    trace = {"name": "recorded", "kind": "trace", "file": "t.jsonl"}
    path = fake_scenario(
        workloads=[trace], load={"trace_speed": [2.0], "min_requests": 6}, warmup_requests=1, retries=0
    )
    summary, _, _ = swept(path, tmp_path / "out")
    (comparison,) = summary["comparisons"]
    assert (comparison["trace_speed"], comparison["request_rate"]) == (2.0, None)
    first = [line for line in requests(tmp_path / "out") if "/b0/" in line["run"]][:6]
    assert [line["scheduled_s"] for line in first] == pytest.approx([0.02 * i for i in range(6)])
    assert [line["completion_tokens"] for line in first] == [3, 4, 3, 4, 3, 4]


def test_prompts_of_a_chosen_length_are_sent_as_ids_and_counted(fake_scenario, tmp_path):
    long = {"name": "long", "kind": "fixed-length"}
    summary, _, _ = swept(fake_scenario(workloads=[long], load=ONE | {"input_len": [7, 9]}), tmp_path / "out")
    assert [(c["input_len"], c["valid"]) for c in summary["comparisons"]] == [(7, True), (9, True)]
    assert {line["prompt_tokens"] for line in requests(tmp_path / "out")} == {7, 9}


def test_a_server_that_counts_other_prompt_lengths_is_not_believed(fake_scenario, tmp_path):
    long = {"name": "long", "kind": "fixed-length"}
    path = fake_scenario(fake={"server": {"extra_prompt_tokens": 1}}, workloads=[long], load=ONE | {"input_len": [7]})
    summary, _, _ = swept(path, tmp_path / "out", code=1)
    assert summary["comparisons"][0]["reasons"] == ["prompts of 7 tokens were sent, the servers counted 8"]


def test_random_tokens_give_no_speedup(fake_scenario, tmp_path):
    noise = {"name": "noise", "kind": "random", "vocab_size": 100}
    summary, _, _ = swept(fake_scenario(workloads=[noise], load=ONE | {"input_len": [7]}), tmp_path / "out", code=1)
    assert "random tokens misstate speculation" in summary["comparisons"][0]["reasons"][0]


def test_the_control_is_a_second_baseline_and_its_interval_is_held_against_one(fake_scenario, tmp_path):
    summary, _, shown = swept(fake_scenario(load=ONE), tmp_path / "out", "--control")
    assert [c["arm"] for c in summary["comparisons"]] == ["control", "ours"]
    control = summary["comparisons"][0]
    assert control["valid"] is True  # nothing is drafted there, and nothing should be
    assert summary["control"]["cells"] == 1
    assert summary["control"]["covered"] == (control["speedup_low"] <= 1 <= control["speedup_high"])
    assert "control (A/A): the interval held 1 in" in shown


def test_a_sweep_of_the_control_alone_needs_no_arm(fake_scenario, tmp_path):
    summary, _, _ = swept(fake_scenario(arms=None, control=True, load=ONE), tmp_path / "out")
    assert [c["arm"] for c in summary["comparisons"]] == ["control"]


def test_each_arm_is_compared_with_both_baselines_and_the_report_says_with_which(fake_scenario, tmp_path):
    out = tmp_path / "out"
    summary, _, shown = swept(fake_scenario(deployment_default=True, load=ONE), out)
    assert [(c["arm"], c["baseline"]) for c in summary["comparisons"]] == [
        ("deployment-default", "target-only"),
        ("ours", "target-only"),
        ("ours", "deployment-default"),
    ]
    assert "against" in shown
    assert '<td class="l">deployment-default</td>' in (out / "report.html").read_text()


def test_servers_that_do_not_fit_together_take_turns(fake_scenario, tmp_path):
    out = tmp_path / "out"
    summary, runs, _ = swept(fake_scenario(placement="alternating", load=ONE), out)
    assert summary["comparisons"][0]["valid"] is True
    assert list(runs.arm) == ["target-only", "ours", "ours", "target-only"]
    assert "One server was up at a time" in (out / "report.html").read_text()


def test_each_combination_of_server_settings_has_its_own_servers(fake_scenario, tmp_path):
    out = tmp_path / "out"
    summary, _, shown = swept(fake_scenario(axes={"max_num_seqs": [2, 8]}, load=ONE), out)
    assert [c["max_num_seqs"] for c in summary["comparisons"]] == [2, 8]
    servers = strict_json(out / "manifest.json")["servers"]
    assert set(servers) == {f"{arm}-s{limit}-auto" for arm in ("target-only", "ours") for limit in (2, 8)}
    assert servers["ours-s8-auto"]["settings"]["vllm_config.scheduler_config.max_num_seqs"] == 8
    assert "limit 8" in shown


def test_a_cell_that_is_not_known_well_enough_gets_further_blocks(fake_scenario, tmp_path):
    """Nothing is ever known to a millionth: every cell gets all its blocks."""
    load = ONE | {"blocks": 4, "max_blocks": 6, "half_width": 1e-6}
    summary, runs, _ = swept(fake_scenario(load=load), tmp_path / "out")
    assert summary["comparisons"][0]["blocks"] == 6
    assert sorted(set(runs.block)) == [0, 1, 2, 3, 4, 5]


def test_a_cell_is_known_when_it_was_narrow_enough_twice_in_a_row(fake_scenario, tmp_path):
    load = ONE | {"blocks": 4, "max_blocks": 8, "half_width": 1e6}
    summary, _, _ = swept(fake_scenario(load=load), tmp_path / "out")
    assert summary["comparisons"][0]["blocks"] == 5


def test_no_further_block_is_begun_when_the_budget_is_spent(fake_scenario, tmp_path):
    load = ONE | {"blocks": 4, "max_blocks": 6, "half_width": 1e-6, "budget_min": 1e-6}
    summary, _, _ = swept(fake_scenario(load=load), tmp_path / "out")
    assert summary["comparisons"][0]["blocks"] == 4


def test_the_highest_rate_within_the_goodput_is_found_for_each_arm(fake_scenario, tmp_path):
    """Answers of 12 tokens, 100 ms a chunk: 1.2 s alone, 0.1 s in one chunk. Only the arm keeps 0.8 s."""
    load = {
        "goodput": {"e2el_ms": 800},
        "slo_search": {"low": 1, "high": 64, "steps": 3, "requests": 4, "share": 0.75},
    }
    path = fake_scenario(fake={"server": {"chunk_s": 0.1}, "tokens_per_step": 12}, load=load)
    summary, runs, shown = swept(path, tmp_path / "out")
    found = {rate["arm"]: rate for rate in summary["slo"]}
    assert (found["target-only"]["slo_rate"], found["target-only"]["slo_rate_above"]) == (None, 1.68)
    assert [probe["request_rate"] for probe in found["target-only"]["probes"]] == [1.68, 2.83, 8.0]
    assert found["ours"]["slo_rate"] == pytest.approx(38, rel=0.1)
    assert found["ours"]["slo_rate_above"] is None  # it was never too fast for it
    assert found["ours"]["slo_rate_ratio"] is None
    assert summary["comparisons"] == []
    assert "within the goodput, chat, target-only: less than 1.68/s" in shown
    assert len(runs) == 6


def test_two_schedulers_agree_in_acceptance_and_state_both_verdicts(fake_scenario, tmp_path):
    load = {"concurrency": [1, 4], "min_requests": 4, "same_prompts": True}
    summary, _, shown = swept(fake_scenario(load=load), tmp_path / "out")
    (pair,) = summary["two_schedulers"]
    assert pair["loads"] == [1, 4]
    assert pair["acceptance_ratio"] == pytest.approx(1.0)
    assert pair["acceptance_agrees"] is True
    assert "two schedulers, chat, ours:" in shown


def test_the_cost_of_an_open_loop_is_known_before_it_is_run(fake_scenario):
    load = {"request_rate": [2.0], "min_requests": 6, "output_len": [10]}
    result = verispec("sweep", fake_scenario(load=load), "--dry-run", "--json")
    assert json.loads(result.stdout)["cost"] == {"requests": 24, "most_tokens": 240, "seconds": 12.0}
