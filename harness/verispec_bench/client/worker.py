"""A client process: takes its share of the load from its parent, and passes up what came of it."""

import asyncio
import contextlib
import signal
import socket
import sys

import uvloop

from verispec_bench.client.loop import LoadLoop
from verispec_bench.client.processes import Job, News, Ready, packed, unpacked
from verispec_bench.client.record import RequestRecord
from verispec_bench.client.watch import ClientWatch

_NEWS_S = 0.05


async def serve(parent: socket.socket) -> None:
    """Run the job that the parent sends; if the parent ends or says so, hand over what there is."""
    reader, writer = await asyncio.open_connection(sock=parent)
    job = await unpacked(reader)
    assert isinstance(job, Job)
    news = News([], 0)

    def done(index: int, record: RequestRecord) -> None:
        news.done.append((index, record))

    def in_flight(count: int) -> None:
        news.in_flight = count

    def tell() -> None:
        writer.write(packed(news))
        news.done.clear()

    async def tell_often() -> None:
        while True:
            await asyncio.sleep(_NEWS_S)
            tell()

    loop = LoadLoop(
        job.base_url,
        job.calls,
        concurrency=job.concurrency,
        timeout_s=job.timeout_s,
        on_done=done,
        on_in_flight=in_flight,
    )
    started = asyncio.Event()

    async def start() -> float:
        writer.write(packed(Ready()))
        began = await unpacked(reader)
        assert isinstance(began, float)
        started.set()
        return began

    load, starting = asyncio.create_task(loop.run(start)), asyncio.create_task(started.wait())
    await asyncio.wait((load, starting), return_when=asyncio.FIRST_COMPLETED)
    if not started.is_set():
        await load  # it failed before it began, and says how
    telling = asyncio.create_task(tell_often())
    async with ClientWatch() as watch:
        parent_ends = asyncio.create_task(reader.read())
        await asyncio.wait((load, parent_ends), return_when=asyncio.FIRST_COMPLETED)
        load.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await load
    telling.cancel()
    tell()
    writer.write(packed(watch.load()))
    await writer.drain()
    writer.close()
    await writer.wait_closed()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):  # the parent is gone
        uvloop.run(serve(socket.socket(fileno=int(sys.argv[1]))))
