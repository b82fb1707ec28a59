"""The closed loop keeps exactly its concurrency, sends every prompt once, drops nothing."""

import pytest

from tests.fakes.server import FakeServer, serving
from verispec_bench.client import Sampling, Target, closed_loop
from verispec_bench.workload import Prompt


async def run(server, texts, concurrency, **callbacks):
    prompts = [Prompt(str(i), text) for i, text in enumerate(texts)]
    async with serving(server) as url:
        return await closed_loop(
            Target(url, "m"), prompts, Sampling(50), concurrency=concurrency, timeout_s=5, **callbacks
        )


@pytest.mark.parametrize("concurrency", [1, 3, 8, 200])
async def test_concurrency_is_kept_and_never_exceeded(concurrency):
    server = FakeServer(chunk_s=0.05)  # 0.6 s for an answer: longer than all connections take to open
    records = await run(server, [f"prompt {i}" for i in range(max(4, 2 * concurrency))], concurrency)
    assert server.most_running == concurrency
    assert all(record.ok for record in records)


async def test_every_prompt_is_sent_once_and_answered_in_place():
    server = FakeServer()
    records = await run(server, [f"prompt {i}" for i in range(20)], 4)
    assert [record.prompt_id for record in records] == [str(i) for i in range(20)]
    sent = [body["messages"][0]["content"] for body in server.bodies]
    assert sorted(sent) == sorted(f"prompt {i}" for i in range(20))


async def test_sent_is_completed_plus_failed():
    words = ["fine", "!503", "!error", "fine", "!truncate", "!reset"]
    records = await run(FakeServer(), words, 2)
    assert [record.ok for record in records] == [True, False, False, True, False, False]


async def test_callbacks_see_every_request_and_change():
    done, in_flight = [], []
    await run(FakeServer(), ["a", "b", "c"], 2, on_done=done.append, on_in_flight=in_flight.append)
    assert len(done) == 3
    assert in_flight[0] == 1
    assert max(in_flight) == 2
    assert in_flight[-1] == 0
