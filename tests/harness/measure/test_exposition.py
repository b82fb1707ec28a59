"""The text of /metrics, read."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from verispec.engine import runtime
from verispec.engine.metrics import PREFIX, PluginMetrics
from verispec.settings import Settings
from verispec_bench.measure.exposition import COUNTERS, parse_metrics


def test_counters_are_summed_over_engines_and_created_rows_are_left_out():
    text = """
# TYPE vllm:spec_decode_num_accepted_tokens counter
vllm:spec_decode_num_accepted_tokens_total{model_name="m",engine="0"} 8.0
vllm:spec_decode_num_accepted_tokens_total{engine="1",model_name="m"} 18.0
vllm:spec_decode_num_accepted_tokens_created{engine="0",model_name="m"} 1.7e+09
# TYPE vllm:spec_decode_num_drafts counter
vllm:spec_decode_num_drafts_total{engine="0"} 10.0
vllm:spec_decode_num_drafts_total{engine="1"} 20.0
vllm:spec_decode_num_drafts_created{engine="1"} 1.7e+09
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0"} 3.0
"""
    assert parse_metrics(text) == {"accepted_tokens": 26.0, "drafts": 30.0, "running": 3.0}


def test_of_the_caches_use_the_fullest_engine_counts():
    text = 'vllm:kv_cache_usage_perc{engine="0"} 0.7\nvllm:kv_cache_usage_perc{engine="1"} 0.6\n'
    assert parse_metrics(text) == {"kv_cache_usage": 0.7}


def test_fallbacks_are_summed_by_reason():
    text = """
verispec:fallbacks_total{engine="0",reason="raised"} 2.0
verispec:fallbacks_total{engine="1",reason="raised"} 1.0
verispec:fallbacks_total{engine="0",reason="stalled"} 0.0
verispec:target_only_seconds_total{engine="0"} 61.5
"""
    assert parse_metrics(text) == {"fallbacks.raised": 3.0, "fallbacks.stalled": 0.0, "target_only_s": 61.5}


def test_times_of_requests_are_sums_of_histograms_without_their_buckets():
    text = """
vllm:request_prefill_time_seconds_bucket{engine="0",le="0.3"} 4.0
vllm:request_prefill_time_seconds_count{engine="0"} 4.0
vllm:request_prefill_time_seconds_sum{engine="0"} 0.75
"""
    assert parse_metrics(text) == {"request_prefill_s": 0.75}


def test_step_times_are_the_plugins():
    text = 'verispec:draft_seconds_total{engine="0"} 0.5\nverispec:verify_steps_total{engine="0"} 7.0\n'
    assert parse_metrics(text) == {"draft_s": 0.5, "verify_steps": 7.0}


def test_every_counter_of_the_plugin_is_one_that_the_plugin_writes(monkeypatch):
    monkeypatch.setattr(runtime, "_current", None)
    runtime.start(Settings())

    async def ask():
        return {"workers": [runtime.status()], "commits": []}

    written = PluginMetrics(ask)
    asyncio.run(written.refresh())
    registry = CollectorRegistry()
    registry.register(written)
    read = parse_metrics(generate_latest(registry).decode())
    ours = {name for name, sample in COUNTERS.items() if sample.startswith(PREFIX)}
    assert {name.partition(".")[0] for name in read} == ours


@pytest.mark.parametrize(
    ("lines", "blocks"),
    [
        ('vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="101"} 1.0\n', 100.0),
        # vLLM writes the sum over both engines on both lines; each has a null block.
        (
            'vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="202"} 1.0\n'
            'vllm:cache_config_info{block_size="16",engine="1",num_gpu_blocks="202"} 1.0\n',
            200.0,
        ),
        ('vllm:cache_config_info{block_size="16",engine="0",num_gpu_blocks="None"} 1.0\n', None),
    ],
)
def test_the_caches_size_is_read_from_labels(lines, blocks):
    assert parse_metrics(lines).get("kv_blocks") == blocks
