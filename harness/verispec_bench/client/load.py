"""One load run: closed or open loop, in this process or in several."""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from verispec_bench.client.loop import LoadLoop
from verispec_bench.client.processes import run_in_processes
from verispec_bench.client.record import RequestRecord
from verispec_bench.client.request import Request, Target
from verispec_bench.client.watch import ClientLoad, ClientWatch

_STREAMS_PER_PROCESS = 256


@dataclass(frozen=True)
class LoadRun:
    """What came of a load.

    Attributes:
        records: one for each request, in their order; of an interrupted run those that were sent.
        client: how busy the client was.
        not_sent: requests that an interrupted run never sent.

    """

    records: list[RequestRecord]
    client: ClientLoad
    not_sent: int = 0


class LoadInterrupted(asyncio.CancelledError):
    """The run was cancelled (Ctrl-C); `run` holds what was measured.

    Like any cancellation it is to be raised again, or taken back with `Task.uncancel`. Python 3.11's task groups know
    only CancelledError itself: in the body of one, catch it there.
    """

    def __init__(self, run: LoadRun) -> None:
        super().__init__("the load was interrupted")
        self.run = run


async def run_load(
    target: Target,
    requests: Sequence[Request],
    *,
    concurrency: int | None,
    timeout_s: float,
    processes: int | Literal["auto"] = 1,
    on_done: Callable[[RequestRecord], None] = lambda record: None,
    on_in_flight: Callable[[int], None] = lambda in_flight: None,
) -> LoadRun:
    """Send every request once: when it is due (open loop), or when the request before it has ended (closed loop).

    Due times are absolute: a late request delays no other. Where a due request finds no free slot it waits in the
    client: `released_s` says until when, `scheduled_s` stays the due time, and latencies count from there. In several
    processes requests and slots are dealt out in turn, and each process queues its own.

    Args:
        requests: in the order in which they are due.
        concurrency: most requests in flight; None: no limit.
        timeout_s: a request that takes longer has failed.
        processes: how many clients; "auto": one for each 256 streams, as far as there are processors.
        on_done: called with each finished record.
        on_in_flight: called with the number of requests sent and not ended whenever it changes; every 50 ms where
            there are several processes.

    Raises:
        UnusableInput: a prompt does not fit the endpoint.
        InfrastructureFailed: a client process died.
        LoadInterrupted: cancelled; requests in flight are recorded as "aborted: …".

    """
    calls = [request.call(target) for request in requests]
    records: dict[int, RequestRecord] = {}

    def keep(index: int, record: RequestRecord) -> None:
        records[index] = record
        on_done(record)

    streams = min(concurrency or len(calls), len(calls))
    count = _enough(streams) if processes == "auto" else max(1, min(processes, streams))
    if count > 1:
        client, interrupted = await run_in_processes(
            count, target.base_url, calls, concurrency, timeout_s, on_done=keep, on_in_flight=on_in_flight
        )
    else:
        loop = LoadLoop(
            target.base_url,
            calls,
            concurrency=concurrency,
            timeout_s=timeout_s,
            on_done=keep,
            on_in_flight=on_in_flight,
        )
        client, interrupted = await _run_here(loop)
    run = LoadRun([records[index] for index in sorted(records)], client, len(calls) - len(records))
    if interrupted:
        raise LoadInterrupted(run)
    return run


async def _run_here(loop: LoadLoop) -> tuple[ClientLoad, bool]:
    """How busy this process was, and whether the run was interrupted."""
    watch, interrupted = ClientWatch(), False
    try:
        async with watch:
            await loop.run(_now)
    except asyncio.CancelledError:
        interrupted = True
    return watch.load(), interrupted


async def _now() -> float:
    return time.perf_counter()


def _enough(streams: int) -> int:
    usable = max(1, len(os.sched_getaffinity(0)) // 2)
    return min(-(-streams // _STREAMS_PER_PROCESS) or 1, usable)
