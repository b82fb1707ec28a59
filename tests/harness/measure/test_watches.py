"""The watches over server and machine."""

import asyncio
import multiprocessing
import os
import time

from tests.fakes.server import FakeServer, serving
from verispec_bench.measure import CpuWatch, ServerWatch


async def test_batch_size_is_the_mean_of_steady_samples():
    server, in_flight = FakeServer(), 4
    async with serving(server) as url, ServerWatch(url, lambda: in_flight) as watch:
        server.running = 4
        await asyncio.sleep(0.6)
        server.running, in_flight = 1, 1  # the drain is not steady
        await asyncio.sleep(0.6)
    measures = watch.measures(4)
    assert measures["batch_size_mean"] == 4.0
    assert measures["preemptions"] is None  # this server has no such counter


async def test_a_server_without_metrics_gives_none():
    async with ServerWatch("http://127.0.0.1:9", lambda: 1) as watch:
        pass
    assert set(watch.measures(1).values()) == {None}


def burn(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_work_of_other_processes_is_foreign_and_of_our_servers_is_not():
    """One busy process, as a stranger and as a server: the difference is the processor that it used."""
    shares = []
    for ours in (True, False):
        worker = multiprocessing.get_context("spawn").Process(target=burn, args=(2.0,))
        worker.start()
        time.sleep(0.7)
        watch = CpuWatch([worker.pid] if ours else [])
        time.sleep(1.0)
        shares.append(watch.foreign_share())
        worker.join()
    assert shares[1] - shares[0] > 0.5 / (os.cpu_count() or 1)
