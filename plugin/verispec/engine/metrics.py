"""The plugin's part of `/metrics`: the state of drafting, fallbacks by reason, and all counters.

They are kept in the worker and engine processes. The API server asks for them when it is asked for its metrics.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

PREFIX = "verispec:"
TIMEOUT_S = 5.0
"""A busy engine answers between two steps; one that does not is described by what it said last."""


class PluginMetrics(Collector):
    """Turns the latest status into metrics, labelled by the number of the engine.

    Args:
        ask: gets the status: {"workers": [… or None], "commits": [… or None]}.

    """

    def __init__(self, ask: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        self._ask = ask
        self._status: dict[str, Any] = {"workers": [], "commits": []}

    async def refresh(self) -> None:
        """Ask the processes."""
        try:
            self._status = await asyncio.wait_for(self._ask(), TIMEOUT_S)
        except Exception:  # the engine is busy or gone: /metrics must still answer
            return

    def collect(self) -> Iterator[Metric]:
        """All metrics; of a process in which the plugin does not speculate, its counters if it is there to count."""
        workers = {str(i): worker for i, worker in enumerate(self._status["workers"]) if worker}
        drafting = {engine: worker for engine, worker in workers.items() if worker["fallback"]}
        counting = {engine: worker for engine, worker in workers.items() if worker["settings"]["counters_only"]}
        yield from _fallback({engine: worker["fallback"] for engine, worker in drafting.items()})
        yield from _counters({engine: worker["counters"] for engine, worker in (drafting | counting).items()})
        controls = {engine: worker["control"] for engine, worker in drafting.items() if worker["control"]}
        yield from _counters({engine: _control(control) for engine, control in controls.items()})
        yield from _counters({str(i): commits for i, commits in enumerate(self._status["commits"]) if commits})


def _fallback(by_engine: dict[str, dict[str, Any]]) -> Sequence[Metric]:
    drafting = GaugeMetricFamily(f"{PREFIX}drafting", "1: drafts are made; 0: target-only.", labels=["engine"])
    seconds = CounterMetricFamily(f"{PREFIX}target_only_seconds", "Time without drafting.", labels=["engine"])
    trips = CounterMetricFamily(f"{PREFIX}fallbacks", "Faults, by reason.", labels=["engine", "reason"])
    for engine, fallback in by_engine.items():
        drafting.add_metric([engine], float(fallback["drafting"]))
        seconds.add_metric([engine], fallback["target_only_s"])
        for reason, count in fallback["trips"].items():
            trips.add_metric([engine, reason], count)
    return drafting, seconds, trips


def _control(control: dict[str, Any]) -> dict[str, Any]:
    """What the controller chose, of which the two times tell the speedup that it believes in."""
    return {f"control_{name}": value for name, value in control["choices"].items()}


def _counters(by_engine: dict[str, dict[str, Any]]) -> Iterator[Metric]:
    """A counter for each name; where it holds a list, it counts by position, from 0."""
    for name, first in next(iter(by_engine.values()), {}).items():
        labels = ["engine", "position"] if isinstance(first, list) else ["engine"]
        family = CounterMetricFamily(f"{PREFIX}{name}", f"{name.replace('_', ' ').capitalize()}.", labels=labels)
        for engine, counters in by_engine.items():
            if isinstance(counters[name], list):
                for position, count in enumerate(counters[name]):
                    family.add_metric([engine, str(position)], count)
            else:
                family.add_metric([engine], counters[name])
        yield family


class RefreshedMetrics:
    """ASGI middleware that lets the metrics be refreshed before they are served.

    Args:
        app: what it stands before.
        metrics: to refresh.

    """

    def __init__(self, app: Callable[..., Awaitable[None]], metrics: PluginMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Pass everything on."""
        if scope["type"] == "http" and scope["path"].rstrip("/") == "/metrics":
            await self._metrics.refresh()
        await self._app(scope, receive, send)
