"""A real patched server beside a real target-only server."""

import asyncio
import hashlib
import json
import os
from pathlib import Path

import aiohttp
import psutil
import pytest

from verispec.release.digest import value_digest
from verispec_bench.client import Request, Sampling, Target, run_load
from verispec_bench.exactness import greedy_parity
from verispec_bench.measure import METRICS, ResourceWatch, RunData, ServerWatch, closed_plateau, measure
from verispec_bench.measure.steps import PARTS
from verispec_bench.model import resolve_model
from verispec_bench.scenario import BASELINE
from verispec_bench.server import differences
from verispec_bench.workload import load_prompts

PROMPTS = [prompt for name in ("chat", "code-edit") for prompt in load_prompts(name, seed=11)[:10]]


def ask(served, prompts, concurrency=4, **sampling):
    target = Target(served.base_url, served.model)
    options = Sampling(sampling.pop("max_tokens", 48), **sampling)
    requests = [Request(prompt, options) for prompt in prompts]
    return asyncio.run(run_load(target, requests, concurrency=concurrency, timeout_s=300)).records


def get(url):
    async def fetch():
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return response.status, await response.json() if response.status == 200 else None

    return asyncio.run(fetch())


@pytest.fixture(scope="module")
def answers(servers):
    return {arm: ask(servers[arm], PROMPTS) for arm in (BASELINE, "suffix")}


def test_greedy_answers_are_the_same_tokens(answers):
    parity = greedy_parity(zip(answers[BASELINE], answers["suffix"], strict=True))
    shown = "\n".join(
        f"{d.prompt_id} from token {d.position}:\n  target-only: {d.baseline!r}\n  speculative: {d.arm!r}"
        for d in parity.divergences
    )
    assert parity.compared == 20
    assert not parity.divergences, shown


def test_something_was_drafted_and_accepted(answers):
    assert sum(record.num_accepted_tokens or 0 for record in answers["suffix"]) > 50


def test_tokens_and_usage_agree(answers):
    for record in (*answers[BASELINE], *answers["suffix"]):
        assert record.ok, record.error
        assert record.completion_tokens == len(record.token_ids) == sum(record.chunk_tokens) <= 48


def test_the_plugin_is_at_work_in_the_worker_process(servers, answers):
    """Judged by what the process did: it drafted, verified, and accepted what the clients saw accepted."""
    served = servers["suffix"]
    _, status = get(f"{served.base_url}/verispec/status")
    (worker,) = status["workers"]
    children = {process.pid for process in psutil.Process(served.pid).children(recursive=True)}
    assert worker["pid"] in children - {served.pid, os.getpid()}
    assert worker["counters"]["accepted_tokens"] >= sum(r.num_accepted_tokens or 0 for r in answers["suffix"])
    assert worker["fallback"]["drafting"]
    assert not any(worker["fallback"]["trips"].values())


def test_every_metric_of_server_and_machine_is_there_on_a_real_server(servers):
    """None is missing for want of a counter's name, and the parts of a whole add up."""
    served = servers["suffix"]

    async def measured():
        async with ServerWatch(served.base_url, lambda: 1) as watch, ResourceWatch(served.pid) as resources:
            sampling = Sampling(96, ignore_eos=True)  # long enough for samples in steady state, however fast it is
            requests = [Request(prompt, sampling) for prompt in load_prompts("code-edit", seed=12)[:8]]
            load = await run_load(Target(served.base_url, served.model), requests, concurrency=2, timeout_s=300)
        return measure(RunData((load.records,), watch.window(closed_plateau(1)), resources.window()))

    measures = asyncio.run(measured())
    declared = [metric.name for metric in METRICS if {"server", "plugin", "machine"} & set(metric.needs)]
    assert [name for name in declared if measures[name] is None] == []
    assert sum(measures[f"step_{part}_share"] for part in PARTS) == pytest.approx(1)
    assert measures["queue_share"] + measures["prefill_share"] + measures["decode_share"] == pytest.approx(1)
    assert 0 < measures["verify_steps"] <= measures["engine_steps"]
    assert measures["drafts"] == measures["spec_decode_num_drafts"]
    assert measures["inconsistent_requests"] == 0


def test_the_server_says_what_it_serves(servers):
    """Read from the process that serves: the weights by content, the rule in place, nothing of this machine's paths."""
    served = servers["suffix"]
    status, manifest = get(f"{served.base_url}/verispec/manifest")
    assert (status, manifest) == (200, served.readback.release)
    facts, directory = manifest["defined_by"], Path(resolve_model(served.model))
    weights = hashlib.sha256((directory / "model.safetensors").read_bytes()).hexdigest()
    assert facts["target"]["weights_sha256"] == value_digest({"model.safetensors": weights})
    assert facts["target"]["vocab_size"] == facts["tokenizer"]["vocab_size"] == 49152
    assert (facts["drafter"]["method"], facts["drafter"]["name"]) == ("verispec", "suffix")
    assert manifest["contract"]["kind"] == "exact-by-construction"
    assert str(directory.parent) not in json.dumps(manifest)
    assert str(Path.home()) + "/" not in json.dumps(manifest)


def test_the_baseline_has_no_plugin(servers):
    assert servers[BASELINE].readback.plugin == []
    assert servers[BASELINE].readback.release is None
    assert get(f"{servers[BASELINE].base_url}/verispec/status")[0] == 404


def test_the_two_servers_are_a_matched_pair(servers):
    assert differences(servers[BASELINE].readback, servers["suffix"].readback) == {}


def test_a_sampled_request_keeps_its_parameters_at_drafted_positions(servers, answers):
    """Temperature 0.8 with top_k 1 leaves one token at each position: the greedy one, drafted or not."""
    sampled = ask(servers["suffix"], PROMPTS[-6:], temperature=0.8, top_k=1)
    assert [record.error for record in sampled] == [None] * 6
    assert sum(record.num_accepted_tokens or 0 for record in sampled) > 10
    assert [record.token_ids for record in sampled] == [record.token_ids for record in answers[BASELINE][-6:]]


def test_sampled_answers_differ_from_greedy_ones_and_are_whole(servers, answers):
    for arm in (BASELINE, "suffix"):
        sampled = ask(servers[arm], PROMPTS[:4], temperature=1.0)
        assert [record.error for record in sampled] == [None] * 4
        assert [r.token_ids for r in sampled] != [r.token_ids for r in answers[arm][:4]]
