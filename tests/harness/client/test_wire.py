"""One request on a real socket: times, each fault under its kind, and nothing sent twice."""

import asyncio
import json

import pytest

from tests.fakes.server import FakeServer, serving
from verispec_bench.client import Request, Sampling, Target, run_load
from verispec_bench.measure.latency import e2el_s, itl_s, tpot_s, ttft_s
from verispec_bench.workload import Prompt


async def ask(server: FakeServer, text: str = "hello", *, timeout_s=5.0, prompt=None, max_tokens=100, **target):
    async with serving(server) as url:
        request = Request(prompt or Prompt("p", text), Sampling(max_tokens))
        run = await run_load(Target(url, server.model, **target), [request], concurrency=1, timeout_s=timeout_s)
    (record,) = run.records
    return record


async def test_a_good_answer():
    record = await ask(FakeServer(tokens_per_chunk=4, answer_tokens=10, speculative=True))
    assert record.ok
    assert record.chunk_tokens == [4, 4, 2]
    assert record.completion_tokens == sum(record.chunk_tokens) == len(record.token_ids) == 10
    assert (record.prompt_tokens, record.max_tokens, record.finish_reason) == (5, 100, "stop")
    assert record.text.startswith(" t")
    assert (record.num_spec_steps, record.num_draft_tokens, record.num_accepted_tokens) == (5, 10, 5)
    assert record.accepted_per_step == [1] * 5
    times = [record.scheduled_s, record.sent_s, record.first_byte_s, *record.chunk_times_s, record.end_s]
    assert times == sorted(times)


async def test_a_role_only_chunk_is_no_token():
    record = await ask(FakeServer(chunk_s=0.05))
    assert record.first_byte_s < record.chunk_times_s[0] - 0.03


@pytest.mark.parametrize("prompt", [Prompt("p", "hello"), Prompt("p", token_ids=(1, 2, 3))])
async def test_completions_are_streamed_alike(prompt):
    record = await ask(FakeServer(tokens_per_chunk=4, answer_tokens=10), prompt=prompt, endpoint="completions")
    assert record.ok
    assert (record.chunk_tokens, record.completion_tokens, len(record.token_ids)) == ([4, 4, 2], 10, 10)


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
async def test_an_answer_without_a_stream_is_one_chunk(endpoint):
    server = FakeServer(chunk_s=0.05, answer_tokens=10)
    record = await ask(server, endpoint=endpoint, stream=False)
    assert record.ok
    assert server.bodies[0]["stream"] is False
    assert (record.streamed, len(record.chunk_times_s), record.chunk_tokens) == (False, 1, [record.completion_tokens])
    assert record.completion_tokens == len(record.token_ids) > 0
    assert record.chunk_times_s[0] >= 0.05


async def test_a_long_answer_is_read_in_parts_and_whole():
    record = await ask(FakeServer(chunk_s=0.0005, answer_tokens=200), max_tokens=200)
    assert sum(record.chunk_tokens) == record.completion_tokens == len(record.token_ids) == 200
    assert record.chunk_times_s == sorted(record.chunk_times_s)


async def test_other_servers_are_timed_by_their_chunks():
    """10 chunks of one token, 20 ms apart, usage only at the end."""
    record = await ask(FakeServer(chunk_s=0.02, answer_tokens=10), is_vllm=False)
    assert record.completion_tokens == len(record.chunk_times_s) == 10
    assert record.chunk_tokens == []
    assert ttft_s(record) < 0.1 < e2el_s(record)
    assert tpot_s(record) == pytest.approx(0.02, abs=0.01)
    assert itl_s(record) == []


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("word", "error"),
    [("!503", "http 503: overloaded"), ("!429", "http 429: slow down (Retry-After: 2)")],
)
async def test_refusals_say_what_the_server_says(word, error, stream):
    server = FakeServer()
    record = await ask(server, word, stream=stream)
    assert record.error == error
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("!error", "stream error: engine died"),
        ("!truncate", "truncated: the stream ended after 2 tokens without a finish reason"),
        ("!reset", "reset: "),
        ("!hang", "timeout: no end after 0.5 s"),
    ],
)
async def test_faults_are_failures_with_their_reason_and_the_tokens_before_them(word, error):
    server = FakeServer()
    record = await ask(server, word, timeout_s=0.5)
    assert record.error.startswith(error)
    assert record.error_kind == error.partition(":")[0]
    assert record.completion_tokens == 2
    assert record.end_s is not None
    assert len(server.bodies) == 1
    json.dumps(record.as_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("url", "kind"), [("http://127.0.0.1:9", "refused"), ("http://no-such-host.invalid", "unreachable")]
)
async def test_servers_that_cannot_be_reached_are_failures(url, kind):
    run = await run_load(Target(url, "m"), [Request(Prompt("p", "x"), Sampling(5))], concurrency=1, timeout_s=20)
    assert run.records[0].error_kind == kind


async def test_a_connection_that_closes_before_the_answer_is_a_reset_and_is_not_tried_again():
    """Also on a connection that has served before: there other clients send once more."""
    heard = []

    async def serve_once(reader, writer):
        for answer in (b"HTTP/1.1 503 x\r\nContent-Length: 2\r\n\r\nno", b""):
            head = await reader.readuntil(b"\r\n\r\n")
            heard.append(head)
            length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
            await reader.readexactly(int(length.split(b":")[1]))
            writer.write(answer)
        writer.close()

    server = await asyncio.start_server(serve_once, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        requests = [Request(Prompt(name, "x"), Sampling(5)) for name in "ab"]
        run = await run_load(Target(url, "m"), requests, concurrency=1, timeout_s=5)
    assert [record.error_kind for record in run.records] == ["http 503", "reset"]
    assert len(heard) == 2


async def test_the_environment_s_proxy_is_not_used(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert (await ask(FakeServer())).ok


async def test_a_redirect_is_a_failure_not_a_second_request():
    async def redirect(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 307 x\r\nLocation: /elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(redirect, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        run = await run_load(Target(url, "m"), [Request(Prompt("p", "x"), Sampling(5))], concurrency=1, timeout_s=5)
    assert run.records[0].error_kind == "http 307"
