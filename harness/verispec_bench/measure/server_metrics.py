"""What the server says of itself while a run goes on: running requests, queue, cache hits, preemptions."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import aiohttp
import numpy as np
from prometheus_client.parser import text_string_to_metric_families

FIRST_INTERVAL_S, INTERVAL_S = 0.05, 0.5
"""Samples are dense at first, so that short runs have some, and then rare, so that they cost the server little."""
_GAUGES = {
    "running": "vllm:num_requests_running",
    "waiting": "vllm:num_requests_waiting",
    "kv_cache_usage": "vllm:kv_cache_usage_perc",
}
_COUNTERS = {
    "prefix_cache_queries": "vllm:prefix_cache_queries_total",
    "prefix_cache_hits": "vllm:prefix_cache_hits_total",
    "preemptions": "vllm:num_preemptions_total",
    "engine_steps": "vllm:iteration_tokens_total_count",
    "drafts": "vllm:spec_decode_num_drafts_total",
    "draft_tokens": "vllm:spec_decode_num_draft_tokens_total",
    "accepted_tokens": "vllm:spec_decode_num_accepted_tokens_total",
}
_SECONDS = {"target_only_s": "verispec:target_only_seconds_total"}
_FALLBACKS = "verispec:fallbacks_total"


@dataclass(frozen=True)
class ServerSample:
    """One look at /metrics, engines summed; counters and gauges that the server lacks are absent."""

    in_flight: int
    values: dict[str, float]


def parse_metrics(text: str) -> dict[str, float]:
    """Our names for the samples we know, summed over engines; `_created` timestamps are left out.

    Fallbacks are counted by reason: {"fallbacks.stalled": 1.0}.
    """
    names = {sample: name for name, sample in (_GAUGES | _COUNTERS | _SECONDS).items()} | {_FALLBACKS: "fallbacks"}
    # vLLM exports thousands of histogram buckets: parsing them all would take a tenth of a processor from the servers.
    known = "\n".join(line for line in text.splitlines() if line.startswith(tuple(names)))
    values: dict[str, float] = {}
    for family in text_string_to_metric_families(known + "\n"):
        for sample in family.samples:
            if name := names.get(sample.name):
                name += f".{sample.labels['reason']}" if sample.name == _FALLBACKS else ""
                values[name] = values.get(name, 0.0) + sample.value
    return values


class ServerWatch:
    """Samples a server's /metrics for the length of an `async with`.

    Args:
        base_url: the server.
        in_flight: how many requests the client has in flight now.

    """

    def __init__(self, base_url: str, in_flight: Callable[[], int]) -> None:
        self._url = f"{base_url}/metrics"
        self._in_flight = in_flight
        self._samples: list[ServerSample] = []
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "ServerWatch":
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10))
        await self._look()
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        await self._look()
        await self._session.close()

    async def _watch(self) -> None:
        interval = FIRST_INTERVAL_S
        while True:
            await asyncio.sleep(interval)
            await self._look()
            interval = min(INTERVAL_S, 1.5 * interval)

    async def _look(self) -> None:
        in_flight = self._in_flight()
        try:
            async with self._session.get(self._url) as response:
                values = parse_metrics(await response.text())
        except (aiohttp.ClientError, TimeoutError, ValueError):
            return
        # The server may have emptied while it was asked.
        self._samples.append(ServerSample(min(in_flight, self._in_flight()), values))

    def measures(self, concurrency: int) -> dict[str, Any]:
        """Batch size in steady state (all `concurrency` requests in flight), and what the counters gained.

        Everything is None where the server has no such metric. `fallbacks` has the reasons that occurred, with their
        counts, `target_only_s` the seconds without drafting.
        """
        steady = [sample.values for sample in self._samples if sample.in_flight >= concurrency]
        running = [values["running"] for values in steady if values.get("running")]  # nothing running is no batch
        waiting = [values["waiting"] for values in steady if "waiting" in values]
        cache = [sample.values["kv_cache_usage"] for sample in self._samples if "kv_cache_usage" in sample.values]
        first, last = (self._samples[i].values if self._samples else {} for i in (0, -1))
        return {
            "batch_size_mean": float(np.mean(running)) if running else None,
            "batch_size_p95": float(np.percentile(running, 95)) if running else None,
            "running_samples": running or None,
            "queue_depth_mean": float(np.mean(waiting)) if waiting else None,
            "kv_cache_usage_max": max(cache) if cache else None,
            "target_only_s": last["target_only_s"] - first.get("target_only_s", 0.0)
            if "target_only_s" in last
            else None,
            "fallbacks": _gained_fallbacks(first, last),
        } | {name: int(last[name] - first.get(name, 0)) if name in last else None for name in _COUNTERS}


def _gained_fallbacks(first: dict[str, float], last: dict[str, float]) -> dict[str, int] | None:
    counts = {name: int(value - first.get(name, 0)) for name, value in last.items() if name.startswith("fallbacks.")}
    return {name.partition(".")[2]: count for name, count in counts.items() if count} if counts else None
