"""The plugin's part of /metrics says what the workers said last."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from verispec.control import make_controller
from verispec.engine import metrics, runtime
from verispec.engine.metrics import PluginMetrics, RefreshedMetrics
from verispec.settings import Settings


@pytest.fixture
def status(monkeypatch):
    monkeypatch.setattr(runtime, "_current", None)
    state = runtime.start(Settings())
    state.counters.accepted_tokens, state.counters.accepted_per_position = 8, [5, 3]
    state.controller = make_controller(state.settings.control)
    state.fallback.switch(False)
    return runtime.status()


def samples(collector):
    registry = CollectorRegistry()
    registry.register(collector)
    text = generate_latest(registry).decode()
    return {
        (sample.name, *(sample.labels[key] for key in ("engine", "reason", "position") if key in sample.labels)): value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        for value in [sample.value]
    }


def collector(*workers, commits=()):
    async def ask():
        return {"workers": workers, "commits": commits}

    made = PluginMetrics(ask)
    asyncio.run(made.refresh())
    return made


def test_state_fallbacks_and_counters_are_there_by_engine(status):
    found = samples(collector(status))
    assert found["verispec:drafting", "0"] == 0
    assert found["verispec:fallbacks_total", "0", "switched-off"] == 1
    assert found["verispec:fallbacks_total", "0", "raised"] == 0
    assert found["verispec:accepted_tokens_total", "0"] == 8
    assert found["verispec:accepted_per_position_total", "0", "1"] == 3
    assert ("verispec:target_only_seconds_total", "0") in found
    assert found["verispec:control_decisions_total", "0"] == 0


def test_drafters_that_are_not_controlled_count_no_decisions(status):
    runtime.current().controller = None
    found = samples(collector(runtime.status()))
    assert not [name for name, *_ in found if name.startswith("verispec:control_")]
    assert found["verispec:accepted_tokens_total", "0"] == 8


def test_commits_come_from_the_engine_cores(status):
    commits = {"committed_tokens": 9, "committed_per_position": [6, 3]}
    found = samples(collector(status, commits=[None, commits]))
    assert found["verispec:committed_tokens_total", "1"] == 9
    assert found["verispec:committed_per_position_total", "1", "0"] == 6


def test_workers_without_the_plugin_or_without_speculation_have_no_metrics(status):
    found = samples(collector(None, status | {"fallback": None}, status))
    assert {key[1] for key in found} == {"2"}


def test_a_worker_without_speculation_that_counts_has_its_counters(monkeypatch):
    monkeypatch.setattr(runtime, "_current", None)
    runtime.start(Settings(counters_only=True), speculative=False).counters.decode_passes = 7
    found = samples(collector(runtime.status()))
    assert found["verispec:decode_passes_total", "0"] == 7
    assert ("verispec:drafting", "0") not in found


def test_an_engine_that_does_not_answer_is_described_by_its_last_word(status, monkeypatch):
    monkeypatch.setattr(metrics, "TIMEOUT_S", 0.05)
    delays = iter([0, 10])

    async def ask():
        await asyncio.sleep(next(delays))
        return {"workers": [status], "commits": []}

    made = PluginMetrics(ask)
    asyncio.run(made.refresh())
    asyncio.run(made.refresh())
    assert samples(made)["verispec:accepted_tokens_total", "0"] == 8


@pytest.mark.parametrize(("path", "asked"), [("/metrics", 1), ("/metrics/", 1), ("/v1/completions", 0)])
def test_only_a_request_for_metrics_asks_the_workers(path, asked):
    calls = []

    async def ask():
        calls.append("asked")
        return {"workers": [], "commits": []}

    async def app(scope, receive, send):
        calls.append("served")

    asyncio.run(RefreshedMetrics(app, PluginMetrics(ask))({"type": "http", "path": path}, None, None))
    assert calls == ["asked"] * asked + ["served"]
