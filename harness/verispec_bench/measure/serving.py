"""The state of the server under the load: its batch, queue and cache, and how often it gave up drafting."""

from collections.abc import Callable
from math import ceil, prod

import numpy as np

from verispec_bench.measure.metric import Metric, MissingError
from verispec_bench.measure.run import RunData


def _mean(gauge: str) -> Callable[[RunData], float]:
    return lambda run: float(np.mean(run.samples(gauge)))


def _batch(run: RunData) -> list[float]:
    """Samples with something running: an idle moment is no batch."""
    running = [value for value in run.samples("running") if value]
    if not running:
        raise MissingError("running")
    return running


def _fallbacks(run: RunData) -> dict[str, int]:
    gained = {name.partition(".")[2]: int(gain) for name, gain in run.server.gains.items() if "fallbacks." in name}
    if not any(gained.values()):
        run.gain("target_only_s")  # that no reason was seen means that there was none, where the plugin was seen
    return {reason: count for reason, count in sorted(gained.items()) if count}


def _kv_blocks(run: RunData) -> tuple[int, int]:
    """(blocks, tokens in a block)."""
    blocks, size = run.server.kv_blocks, run.server.kv_block_size
    if blocks is None or size is None:
        raise MissingError("the KV cache's blocks")
    return blocks, size


def _max_feasible_batch(run: RunData) -> int:
    blocks, size = _kv_blocks(run)
    needed = [ceil((prompt + output) / size) for prompt, output in zip(run.prompt_lens, run.output_lens, strict=True)]
    return blocks * len(needed) // sum(needed)


METRICS = (
    Metric(
        "batch_size_mean",
        "requests",
        None,
        "Running requests, mean of the samples in steady state in which some ran. Steady state: in a closed loop, all "
        "its requests are in flight; with arrivals, between the first and the last tenth of them.",
        ("server",),
        lambda run: float(np.mean(_batch(run))),
    ),
    Metric(
        "batch_size_p95",
        "requests",
        None,
        "95th percentile of the same samples.",
        ("server",),
        lambda run: float(np.percentile(_batch(run), 95)),
    ),
    Metric(
        "queue_depth_mean",
        "requests",
        "lower",
        "Requests in the server's queue, mean of the samples in steady state.",
        ("server",),
        _mean("waiting"),
    ),
    Metric(
        "queue_depth_max",
        "requests",
        "lower",
        "The most requests in the server's queue, of all samples.",
        ("server",),
        lambda run: max(run.samples("waiting", steady=False)),
    ),
    Metric(
        "kv_cache_usage_mean",
        "",
        None,
        "Share of the KV cache in use, mean of the samples in steady state; of the fullest engine.",
        ("server",),
        _mean("kv_cache_usage"),
    ),
    Metric(
        "kv_cache_usage_max",
        "",
        None,
        "The largest share of the KV cache in use, of all samples.",
        ("server",),
        lambda run: max(run.samples("kv_cache_usage", steady=False)),
    ),
    Metric(
        "kv_cache_tokens",
        "tokens",
        "higher",
        "Tokens that the KV cache holds: blocks × tokens in a block; vLLM's null blocks left out.",
        ("server",),
        lambda run: prod(_kv_blocks(run)),
    ),
    Metric(
        "max_feasible_batch",
        "requests",
        "higher",
        "Requests of this load's mean size that fit the KV cache at once: blocks / mean of ⌈(prompt + output tokens) / "
        "tokens in a block⌉, rounded down. Arms whose servers were given the same memory compare by it.",
        ("server", "usage"),
        _max_feasible_batch,
    ),
    Metric(
        "preemptions",
        "requests",
        "lower",
        "Requests thrown out of the batch for want of KV cache.",
        ("server",),
        lambda run: int(run.gain("preemptions")),
    ),
    Metric(
        "prefix_cache_queries",
        "tokens",
        None,
        "Prompt tokens looked up in the prefix cache.",
        ("server",),
        lambda run: int(run.gain("prefix_cache_queries")),
    ),
    Metric(
        "prefix_cache_hits",
        "tokens",
        None,
        "Prompt tokens found there.",
        ("server",),
        lambda run: int(run.gain("prefix_cache_hits")),
    ),
    Metric(
        "prefix_cache_hit_share",
        "",
        None,
        "Prompt tokens found in the prefix cache / looked up.",
        ("server",),
        lambda run: run.gain("prefix_cache_hits") / run.gain("prefix_cache_queries"),
    ),
    Metric(
        "fallbacks",
        "",
        "lower",
        "Times that the plugin went over to target-only decoding, by reason.",
        ("plugin",),
        _fallbacks,
        structured=True,
    ),
    Metric(
        "target_only_s",
        "s",
        "lower",
        "Time without drafting.",
        ("plugin",),
        lambda run: run.gain("target_only_s"),
    ),
    Metric(
        "target_only_share",
        "",
        "lower",
        "Time without drafting / duration.",
        ("plugin",),
        lambda run: run.gain("target_only_s") / run.duration_s,
    ),
)
