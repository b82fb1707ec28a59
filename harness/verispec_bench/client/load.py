"""The closed loop: a fixed number of requests in flight until all prompts are answered."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence

import aiohttp

from verispec_bench.client.record import RequestRecord
from verispec_bench.client.request import Sampling, Target, send
from verispec_bench.workload.prompt import Prompt


async def closed_loop(
    target: Target,
    prompts: Sequence[Prompt],
    sampling: Sampling,
    *,
    concurrency: int,
    timeout_s: float,
    on_done: Callable[[RequestRecord], None] = lambda record: None,
    on_in_flight: Callable[[int], None] = lambda in_flight: None,
) -> list[RequestRecord]:
    """Send every prompt once, `concurrency` at a time; each slot sends its next when its last is answered.

    Args:
        on_done: called with each finished record.
        on_in_flight: called with the number of requests in flight whenever it changes.

    Returns:
        One record for each prompt, in the order of the prompts.

    """
    records: dict[int, RequestRecord] = {}
    waiting: Iterator[tuple[int, Prompt]] = iter(enumerate(prompts))
    start = time.perf_counter()
    in_flight = 0

    async def slot(session: aiohttp.ClientSession) -> None:
        nonlocal in_flight
        for index, prompt in waiting:
            in_flight += 1
            on_in_flight(in_flight)
            records[index] = await send(session, target, prompt, sampling, start, timeout_s)
            in_flight -= 1
            on_in_flight(in_flight)
            on_done(records[index])

    # limit=0: no connection limit of the client's own; no read time-out but the stated one.
    connector = aiohttp.TCPConnector(limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with (
        aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
        asyncio.TaskGroup() as slots,
    ):
        for _ in range(min(concurrency, len(prompts))):
            slots.create_task(slot(session))
    return [records[index] for index in range(len(prompts))]
