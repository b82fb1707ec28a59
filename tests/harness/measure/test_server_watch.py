"""The watch over a server."""

import asyncio

import pytest

from tests.fakes.server import FakeServer, serving
from tests.harness.measure.literal import request
from verispec_bench.measure import RunData, ServerWatch, closed_plateau, measure, middle_of


def measured(watch, steady):
    return measure(RunData(([request((1.0,), (1,))],), watch.window(steady)))


async def test_batch_size_is_the_mean_of_steady_samples():
    server, in_flight = FakeServer(), 4
    async with serving(server) as url, ServerWatch(url, lambda: in_flight) as watch:
        server.running = 4
        await asyncio.sleep(0.6)
        server.running, in_flight = 1, 1  # the drain is not steady
        await asyncio.sleep(0.6)
    measures = measured(watch, closed_plateau(4))
    assert measures["batch_size_mean"] == 4.0
    assert measures["preemptions"] is None  # this server has no such counter


async def test_with_arrivals_the_middle_of_the_load_is_steady():
    """Ten requests, one each 0.1 s from 0.3 s after the watch on: they arrive in the load's first 0.9 s."""
    server, in_flight = FakeServer(running=7), 0
    async with serving(server) as url, ServerWatch(url, lambda: in_flight) as watch:
        await asyncio.sleep(0.3)
        in_flight = 1
        await asyncio.sleep(1.5)
    samples = watch.window(middle_of([0.1 * i for i in range(10)])).samples
    assert {sample.steady for sample in samples} == {True, False}
    for sample in samples:
        assert sample.steady == (0.09 <= sample.at_s <= 0.81)
    assert max(sample.at_s for sample in samples) < 1.9  # counted from the load's beginning, at most a look late
    assert all(sample.in_flight for sample in samples)


async def test_fallbacks_are_those_of_the_run():
    server = FakeServer(speculative=True, falls_back="raised", bodies=[{}] * 5)
    async with serving(server) as url, ServerWatch(url, lambda: 1) as watch:
        server.bodies += [{}] * 2
    measures = measured(watch, closed_plateau(1))
    assert measures["fallbacks"] == {"raised": 2}
    assert measures["target_only_s"] == pytest.approx(0.002)


async def test_a_reason_that_first_occurs_within_the_run_is_counted_from_zero():
    server = FakeServer(speculative=True)
    async with serving(server) as url, ServerWatch(url, lambda: 1) as watch:
        server.falls_back, server.bodies = "stalled", [{}] * 3
    assert measured(watch, closed_plateau(1))["fallbacks"] == {"stalled": 3}


async def test_counters_of_a_server_that_was_started_anew_gain_nothing_known():
    server = FakeServer(speculative=True, falls_back="raised", bodies=[{}] * 5)
    async with serving(server) as url, ServerWatch(url, lambda: 1) as watch:
        server.bodies = [{}]
    assert watch.window(closed_plateau(1)).gains == {}


async def test_a_server_that_was_not_seen_before_the_load_has_no_gains():
    """Counts since its start would pass for those of the run."""
    server = FakeServer(speculative=True, falls_back="raised", bodies=[{}] * 5)
    async with serving(server) as url:
        watch = ServerWatch(url, lambda: 1)
        watch._url = "http://127.0.0.1:9/metrics"
        async with watch:
            watch._url = f"{url}/metrics"
    assert watch.window(closed_plateau(1)).gains == {}


async def test_a_server_without_metrics_gives_nothing():
    async with ServerWatch("http://127.0.0.1:9", lambda: 1) as watch:
        pass
    window = watch.window(closed_plateau(1))
    assert (window.gains, window.samples, window.kv_blocks) == ({}, (), None)
