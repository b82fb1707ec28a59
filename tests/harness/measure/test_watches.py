"""The watches over server and machine."""

import asyncio
import multiprocessing
import os
import time

import psutil
import pytest

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


async def test_fallbacks_are_those_of_the_run():
    server = FakeServer(speculative=True, falls_back="raised", bodies=[{}] * 5)
    async with serving(server) as url, ServerWatch(url, lambda: 1) as watch:
        server.bodies += [{}] * 2
    measures = watch.measures(1)
    assert measures["fallbacks"] == {"raised": 2}
    assert measures["target_only_s"] == pytest.approx(0.002)


async def test_a_server_without_metrics_gives_none():
    async with ServerWatch("http://127.0.0.1:9", lambda: 1) as watch:
        pass
    assert set(watch.measures(1).values()) == {None}


def burn(seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def test_work_of_other_processes_is_foreign_and_of_our_servers_is_not():
    """One busy process, looked at as a stranger and as a server: the difference is the processor that it used."""
    worker = multiprocessing.get_context("spawn").Process(target=burn, args=(2.0,))
    worker.start()
    time.sleep(0.7)
    used = psutil.Process(worker.pid).cpu_times().user
    watches = [CpuWatch([]), CpuWatch([worker.pid])]
    time.sleep(1.0)
    as_stranger, as_server = (watch.foreign_share() for watch in watches)
    used = psutil.Process(worker.pid).cpu_times().user - used
    worker.join()
    assert used > 0.1
    assert as_stranger - as_server == pytest.approx(used / len(os.sched_getaffinity(0)), abs=0.1)
