"""The text of a server's /metrics, read for the few samples that we know."""

from prometheus_client.parser import text_string_to_metric_families

GAUGES = {
    "running": "vllm:num_requests_running",
    "waiting": "vllm:num_requests_waiting",
    "kv_cache_usage": "vllm:kv_cache_usage_perc",
}
COUNTERS = {
    "prefix_cache_queries": "vllm:prefix_cache_queries_total",
    "prefix_cache_hits": "vllm:prefix_cache_hits_total",
    "preemptions": "vllm:num_preemptions_total",
    "engine_steps": "vllm:iteration_tokens_total_count",
    "drafts": "vllm:spec_decode_num_drafts_total",
    "draft_tokens": "vllm:spec_decode_num_draft_tokens_total",
    "accepted_tokens": "vllm:spec_decode_num_accepted_tokens_total",
    "finished_requests": "vllm:request_queue_time_seconds_count",
    "request_queue_s": "vllm:request_queue_time_seconds_sum",
    "request_prefill_s": "vllm:request_prefill_time_seconds_sum",
    "request_decode_s": "vllm:request_decode_time_seconds_sum",
    "target_only_s": "verispec:target_only_seconds_total",
    "verify_steps": "verispec:verify_steps_total",
    "draft_s": "verispec:draft_seconds_total",
    "rule_s": "verispec:rule_seconds_total",
    "verifying_s": "verispec:verify_seconds_total",
    "verifying_passes": "verispec:verify_passes_total",
    "decoding_s": "verispec:decode_seconds_total",
    "decoding_passes": "verispec:decode_passes_total",
    "prompts_s": "verispec:prompt_seconds_total",
    "other_s": "verispec:overhead_seconds_total",
    "fallbacks": "verispec:fallbacks_total",
}
"""Our names; fallbacks are counted by reason: "fallbacks.stalled"."""
CACHE_INFO = "vllm:cache_config_info"
_NAMES = {sample: name for name, sample in (GAUGES | COUNTERS).items()}
_KNOWN = (*_NAMES, CACHE_INFO)


def parse_metrics(text: str) -> dict[str, float]:
    """The values of the samples we know, summed over engines; `_created` timestamps are left out.

    Of the KV cache's use the fullest engine's is given; kv_blocks and kv_block_size are from labels.
    """
    # vLLM exports thousands of histogram buckets: parsing them all would take a tenth of a processor from the servers.
    known = "\n".join(line for line in text.splitlines() if line.startswith(_KNOWN))
    values: dict[str, float] = {}
    caches: list[dict[str, str]] = []
    for family in text_string_to_metric_families(known + "\n"):
        for sample in family.samples:
            if sample.name == CACHE_INFO:
                caches.append(sample.labels)
            elif name := _NAMES.get(sample.name):
                name += f".{sample.labels['reason']}" if name == "fallbacks" else ""
                before = values.get(name, 0.0)
                values[name] = max(before, sample.value) if name == "kv_cache_usage" else before + sample.value
    return values | _cache(caches)


def _cache(engines: list[dict[str, str]]) -> dict[str, float]:
    """Blocks that requests can have: vLLM states all engines' sum for each (AsyncMPClient), one null block in each."""
    if not engines:
        return {}
    blocks, size = (engines[0].get(label, "") for label in ("num_gpu_blocks", "block_size"))
    if not (blocks.isdigit() and size.isdigit()):
        return {}
    return {"kv_blocks": float(int(blocks) - len(engines)), "kv_block_size": float(size)}
