"""Looks at what a server says of itself while a run goes on."""

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from types import TracebackType

import aiohttp
import numpy as np

from verispec_bench.measure.exposition import COUNTERS, parse_metrics
from verispec_bench.measure.window import ServerSample, ServerWindow

FIRST_INTERVAL_S, INTERVAL_S = 0.05, 0.5
"""Samples are dense at first, so that short runs have some, and then rare, so that they cost the server little."""
EDGE = 0.1
"""Share of the arrivals at either end of an open load that is not steady state."""
Steady = Callable[[float, int], bool]
"""Whether the load is at its plateau: (seconds since it began, requests in flight)."""


def closed_plateau(concurrency: int) -> Steady:
    """Of a closed loop: all its requests are in flight."""
    return lambda at_s, in_flight: in_flight >= concurrency


def middle_of(arrivals_s: Sequence[float]) -> Steady:
    """Of a load with arrivals at these times: after the first and before the last tenth of them."""
    first, last = np.quantile(arrivals_s, [EDGE, 1 - EDGE])
    return lambda at_s, in_flight: bool(first <= at_s <= last)


class ServerWatch:
    """Samples a server's /metrics for the length of an `async with`.

    Args:
        base_url: the server.
        in_flight: how many requests the client has in flight now.

    """

    def __init__(self, base_url: str, in_flight: Callable[[], int]) -> None:
        self._url = f"{base_url}/metrics"
        self._in_flight = in_flight
        self._looks: list[tuple[float, int, dict[str, float]]] = []
        self._before: dict[str, float] | None = None
        self._after: dict[str, float] | None = None
        self._began = time.monotonic()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "ServerWatch":
        self._session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10))
        self._before = await self._look()
        self._began = time.monotonic()
        self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._after = await self._look()
        await self._session.close()

    async def _watch(self) -> None:
        interval = FIRST_INTERVAL_S
        while True:
            await asyncio.sleep(interval)
            at, in_flight = time.monotonic(), self._in_flight()
            if not self._looks and not in_flight:
                self._began = at  # the load has not begun: its client processes are starting
            values = await self._look()
            if values is not None and (in_flight or self._looks):
                # The server may have emptied while it was asked.
                self._looks.append((at - self._began, min(in_flight, self._in_flight()), values))
            interval = min(INTERVAL_S, 1.5 * interval)

    async def _look(self) -> dict[str, float] | None:
        try:
            async with self._session.get(self._url) as response:
                return parse_metrics(await response.text())
        except (aiohttp.ClientError, TimeoutError, ValueError):
            return None

    def window(self, steady: Steady) -> ServerWindow:
        """What was seen; to be asked for after the `async with`."""
        before, after = self._before or {}, self._after or {}
        blocks, size = after.get("kv_blocks"), after.get("kv_block_size")
        return ServerWindow(
            gains=_gains(before, after),
            samples=tuple(
                ServerSample(
                    round(at_s, 3),
                    in_flight,
                    steady(at_s, in_flight),
                    *(values.get(gauge) for gauge in ("running", "waiting", "kv_cache_usage")),
                )
                for at_s, in_flight, values in self._looks
            ),
            kv_blocks=None if blocks is None else int(blocks),
            kv_block_size=None if size is None else int(size),
        )


def _gains(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """Of the counters that were seen on both sides of the load; a labelled one begins at 0 when it first counts.

    A counter that went back is that of a server that was started anew: it gained nothing that could be known.
    """
    gains = {}
    for name, value in after.items():
        counter, dot, _ = name.partition(".")
        start = before.get(name, 0.0 if dot and before else None)
        if counter in COUNTERS and start is not None and value >= start:
            gains[name] = value - start
    return gains
