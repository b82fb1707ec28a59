"""The watches over the machine."""

import asyncio
import multiprocessing
import os
import time

import psutil
import pytest

from verispec_bench.measure import MAX_JUMP_S, ResourceWatch
from verispec_bench.measure.clock import ClockWatch
from verispec_bench.measure.cpu import CpuWatch

MIB = 2**20


def burn(started, seconds: float, hold_bytes: int = 0) -> None:
    held = b"x" * hold_bytes
    started.set()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
    del held


def start(*arguments) -> multiprocessing.Process:
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    worker = context.Process(target=burn, args=(started, *arguments))
    worker.start()
    assert started.wait(60)
    return worker


def test_work_of_other_processes_is_foreign_and_of_our_servers_is_not():
    """One busy process, looked at as a stranger and as a server: the difference is the processor that it used."""
    worker = start(4.0)
    used = psutil.Process(worker.pid).cpu_times().user
    watches = [CpuWatch([]), CpuWatch([worker.pid])]
    time.sleep(1.0)
    as_stranger, as_server = (watch.foreign_share() for watch in watches)
    used = psutil.Process(worker.pid).cpu_times().user - used
    worker.terminate()
    worker.join()
    assert used > 0.1
    assert as_stranger - as_server == pytest.approx(used / len(os.sched_getaffinity(0)), abs=0.1)


async def test_memory_and_processor_time_are_those_of_the_server():
    worker = await asyncio.to_thread(start, 20.0, 200 * MIB)
    process = psutil.Process(worker.pid)
    before = process.cpu_times()
    async with ResourceWatch(worker.pid) as watch:
        await asyncio.sleep(1.0)
    after = process.cpu_times()
    worker.terminate()
    worker.join()
    window = watch.window()
    assert 200 * MIB < window.rss_bytes < 400 * MIB
    used = after.user + after.system - before.user - before.system
    assert 0 < window.cpu_s <= used + 0.005  # of clock ticks of .01 s, summed in another order
    assert window.processors == len(os.sched_getaffinity(0))
    assert 0 <= window.foreign_cpu <= 1
    assert abs(window.clock_jump_s) < MAX_JUMP_S


async def test_of_a_server_that_is_gone_nothing_is_known():
    worker = start(20.0)
    async with ResourceWatch(worker.pid) as watch:
        worker.terminate()
        worker.join()
    assert watch.window().cpu_s is None


async def test_of_a_server_elsewhere_only_the_clocks_are_watched():
    async with ResourceWatch(None) as watch:
        pass
    window = watch.window()
    assert abs(window.clock_jump_s) < MAX_JUMP_S
    assert (window.cpu_s, window.rss_bytes, window.gpus, window.foreign_cpu) == (None, None, None, None)


@pytest.mark.parametrize(("wall_s", "monotonic_s", "jump_s"), [(61, 60, 1), (58, 60, -2), (60, 60, 0)])
def test_a_clock_that_was_set_is_noticed(wall_s, monotonic_s, jump_s):
    """The wall clock went from 1,000 s on by `wall_s` while the monotonic one went on by `monotonic_s`."""
    times = {"wall": 1000.0, "monotonic": 5.0}
    watch = ClockWatch(lambda: times["wall"], lambda: times["monotonic"])
    times["wall"] += wall_s
    times["monotonic"] += monotonic_s
    assert watch.jump_s() == pytest.approx(jump_s)
