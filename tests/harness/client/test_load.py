"""Load runs: every request once and in its place, at its time, whatever the loop and the number of processes."""

import asyncio
import os
import signal
import time

import psutil
import pytest

from tests.fakes.server import FakeServer, serving
from verispec_bench.client import ClientLoad, LoadInterrupted, Request, Sampling, Target, run_load
from verispec_bench.client import load as load_module
from verispec_bench.errors import InfrastructureFailed
from verispec_bench.workload import Prompt

WORDS = ["fine", "!503", "!error", "fine", "!truncate", "!reset", "!429"]
KINDS = [None, "http 503", "stream error", None, "truncated", "reset", "http 429"]


def requests(texts, due=None):
    due = due or [None] * len(texts)
    return [
        Request(Prompt(str(i), text), Sampling(50), at) for i, (text, at) in enumerate(zip(texts, due, strict=True))
    ]


async def run(server, texts, concurrency, *, due=None, timeout_s=5, **options):
    async with serving(server) as url:
        return await run_load(
            Target(url, "m"), requests(texts, due), concurrency=concurrency, timeout_s=timeout_s, **options
        )


@pytest.mark.parametrize("concurrency", [1, 3, 8, 200])
async def test_concurrency_is_kept_and_never_exceeded(concurrency):
    server = FakeServer(chunk_s=0.05)  # 0.6 s for an answer: longer than all connections take to open
    records = (await run(server, [f"prompt {i}" for i in range(max(4, 2 * concurrency))], concurrency)).records
    assert server.most_running == concurrency
    assert all(record.ok for record in records)


@pytest.mark.parametrize("processes", [1, 2])
async def test_every_prompt_is_sent_once_and_answered_in_place(processes):
    server = FakeServer()
    records = (await run(server, [f"prompt {i}" for i in range(21)], 4, processes=processes)).records
    assert [record.prompt_id for record in records] == [str(i) for i in range(21)]
    sent = [body["messages"][0]["content"] for body in server.bodies]
    assert sorted(sent) == sorted(f"prompt {i}" for i in range(21))


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("due", [None, [0.01 * i for i in range(7)]])
async def test_each_fault_is_counted_exactly_once_and_sent_is_completed_plus_failed(processes, due):
    server, done = FakeServer(), []
    result = await run(server, WORDS, 2, due=due, processes=processes, on_done=done.append)
    assert [record.error_kind for record in result.records] == KINDS
    assert sorted(record.prompt_id for record in done) == [record.prompt_id for record in result.records]
    assert len(server.bodies) == len(WORDS)
    assert result.not_sent == 0


async def test_two_processes_give_the_same_answers_as_one():
    texts = [f"prompt {i}" for i in range(9)]
    one = (await run(FakeServer(tokens_per_chunk=5), texts, 3)).records
    two = (await run(FakeServer(tokens_per_chunk=5), texts, 3, processes=2)).records
    counted = ("prompt_id", "chunk_tokens", "completion_tokens", "prompt_tokens", "token_ids", "text", "error")
    for left, right in zip(one, two, strict=True):
        assert {name: getattr(left, name) for name in counted} == {name: getattr(right, name) for name in counted}


async def test_two_processes_start_together_and_share_the_slots():
    server = FakeServer(chunk_s=0.05)
    result = await run(server, [f"prompt {i}" for i in range(10)], 5, processes=2)
    assert server.most_running == 5
    assert max(record.scheduled_s for record in result.records[:5]) < 0.3
    assert result.client.processes == 2


async def test_there_are_no_more_processes_than_slots():
    assert (await run(FakeServer(), ["a", "b", "c"], 1, processes=3)).client.processes == 1


def test_auto_takes_a_process_for_each_so_many_streams_as_far_as_there_are_processors(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)))
    assert [load_module._enough(streams) for streams in (0, 1, 256, 257, 1000, 100_000)] == [1, 1, 1, 2, 4, 8]


async def test_callbacks_see_every_request_and_change():
    done, in_flight = [], []
    await run(FakeServer(), ["a", "b", "c"], 2, on_done=done.append, on_in_flight=in_flight.append)
    assert len(done) == 3
    assert (in_flight[0], max(in_flight), in_flight[-1]) == (1, 2, 0)


async def test_callbacks_see_every_request_of_all_processes():
    done, in_flight = [], []
    options = {"processes": 2, "on_done": done.append, "on_in_flight": in_flight.append}
    await run(FakeServer(chunk_s=0.03), ["a", "b", "c", "d"], 2, **options)
    assert len(done) == 4
    assert (max(in_flight), in_flight[-1]) == (2, 0)


async def test_a_callback_that_fails_ends_the_run():
    def broken(record):
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await run(FakeServer(), ["a", "b"], 1, on_done=broken)


@pytest.mark.parametrize("processes", [1, 2])
async def test_due_requests_are_sent_at_their_time_however_long_the_others_take(processes):
    due = [0.0, 0.0, 0.15, 0.3, 0.45]
    records = (await run(FakeServer(chunk_s=0.1), list("abcde"), None, due=due, processes=processes)).records
    assert [record.scheduled_s for record in records] == due
    # Without a limit nothing queues in the client: what it is late by is its own lag.
    assert all(record.released_s == pytest.approx(record.scheduled_s) for record in records)
    assert all(record.sent_s >= record.released_s for record in records)
    # Each answer takes 1.2 s: had one waited for another, it would be late by a second.
    assert all(record.sent_s - record.scheduled_s < 0.5 for record in records)


async def test_two_hundred_a_second_are_two_hundred_a_second():
    """No drift: the last of 300 is sent 1.5 s after the first, and in the order in which they are due."""
    server = FakeServer(answer_tokens=1)
    records = (await run(server, ["x"] * 300, None, due=[i / 200 for i in range(300)])).records
    sent = [record.sent_s for record in records]
    assert sent == sorted(sent)
    assert sent[-1] - records[-1].scheduled_s < 0.5
    assert min(at - i / 200 for i, at in enumerate(sent)) >= 0


async def test_a_limited_open_loop_shows_its_queue_in_the_latencies_from_the_due_times():
    """8 requests, 10 per second, 500 ms of service, one slot: the last waits for 7 others, 2.8 s behind its time."""
    due = [0.1 * i for i in range(8)]
    records = (await run(FakeServer(answer_tokens=1, chunk_s=0.5), ["x"] * 8, 1, due=due)).records
    assert all(record.ok for record in records)
    for i, record in enumerate(records):
        assert record.scheduled_s == due[i]
        assert record.released_s - record.scheduled_s >= 0.4 * i  # queued in the client
        assert record.sent_s - record.released_s < 0.1  # and sent at once when its slot was free
        assert record.chunk_times_s[-1] - record.scheduled_s >= 0.5 + 0.4 * i


async def test_in_flight_counts_what_is_sent_not_what_waits():
    in_flight = []
    due = [0.0] * 6
    await run(FakeServer(), ["x"] * 6, 2, due=due, on_in_flight=in_flight.append)
    assert max(in_flight) == 2


async def test_in_a_closed_loop_the_next_is_scheduled_when_the_last_has_ended():
    first, second = (await run(FakeServer(chunk_s=0.02), ["a", "b"], 1)).records
    assert second.scheduled_s == second.released_s
    assert first.end_s <= second.scheduled_s < first.end_s + 0.1


@pytest.mark.parametrize("processes", [1, 2])
async def test_interrupted_runs_keep_what_was_measured_and_count_what_was_never_sent(processes):
    """Four are answered, four are in flight, two were never sent."""
    server = FakeServer()
    async with serving(server) as url:
        texts = ["fine"] * 4 + ["!hang"] * 6
        done = []
        options = {"concurrency": 4, "timeout_s": 60, "processes": processes, "on_done": done.append}
        load = asyncio.create_task(run_load(Target(url, "m"), requests(texts), **options))
        while len(done) < 4 or server.running < 4:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.2)
        load.cancel()
        with pytest.raises(LoadInterrupted) as interrupted:
            await load
    kept = interrupted.value.run
    assert [record.error_kind for record in kept.records] == [None] * 4 + ["aborted"] * 4
    assert kept.not_sent == 2
    assert kept.client.processes == processes
    assert kept.client.busy_share > 0
    assert all(record.completion_tokens == 2 for record in kept.records[4:])


async def test_requests_that_wait_for_their_time_are_not_sent_when_the_run_is_interrupted():
    async with serving(FakeServer()) as url:
        load = asyncio.create_task(
            run_load(Target(url, "m"), requests(["a", "b"], [0.0, 60.0]), concurrency=None, timeout_s=5)
        )
        await asyncio.sleep(0.5)
        load.cancel()
        with pytest.raises(LoadInterrupted) as interrupted:
            await load
    assert [record.ok for record in interrupted.value.run.records] == [True]
    assert interrupted.value.run.not_sent == 1


def clients():
    return [child for child in psutil.Process().children() if "verispec_bench.client.worker" in child.cmdline()]


async def test_a_killed_client_process_ends_the_run_and_the_others():
    async with serving(FakeServer()) as url:
        load = asyncio.create_task(
            run_load(Target(url, "m"), requests(["!hang"] * 4), concurrency=4, timeout_s=60, processes=2)
        )
        started = time.monotonic()
        while len(clients()) < 2:
            assert time.monotonic() - started < 60
            await asyncio.sleep(0.05)
        victim = clients()[0]
        victim.send_signal(signal.SIGKILL)
        with pytest.raises(InfrastructureFailed, match=r"client process \d died \(exit code -9\)"):
            await load
    assert not [child for child in clients() if child.is_running() and child.status() != psutil.STATUS_ZOMBIE]


async def test_a_client_process_that_fails_says_why():
    async def broken(url):
        target = Target("http://[", "m")
        await run_load(target, requests(["a", "b"]), concurrency=2, timeout_s=5, processes=2)

    with pytest.raises(InfrastructureFailed, match=r"client process \d died \(exit code 1\): ValueError"):
        await broken("")


def test_of_several_clients_the_worst_counts():
    loads = [ClientLoad(0.2, 0.003), ClientLoad(0.9, None), ClientLoad(0.1, 0.001)]
    assert ClientLoad.worst(loads, 3) == ClientLoad(0.9, 0.003, 3)
    assert ClientLoad.worst([], 2) == ClientLoad(None, None, 2)
