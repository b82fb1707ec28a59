"""One request against the fake: what is recorded, and how each fault is classified."""

import json
import time

import aiohttp
import pytest

from tests.fakes.server import FakeServer, serving
from verispec_bench.client.record import RequestRecord
from verispec_bench.client.request import Sampling, Target, _Stream, send
from verispec_bench.measure.latency import e2el_s, itl_s, tpot_s, ttft_s
from verispec_bench.workload import Prompt


async def ask(server: FakeServer, text: str, *, timeout_s=5.0, is_vllm=True, **sampling):
    async with serving(server) as url, aiohttp.ClientSession() as session:
        target = Target(url, server.model, is_vllm)
        options = Sampling(sampling.pop("max_tokens", 100), **sampling)
        return await send(session, target, Prompt("p", text), options, time.perf_counter(), timeout_s)


async def test_a_good_answer():
    record = await ask(FakeServer(tokens_per_chunk=4, answer_tokens=10, speculative=True), "hello")
    assert record.ok
    assert record.chunk_tokens == [4, 4, 2]
    assert record.completion_tokens == sum(record.chunk_tokens) == len(record.token_ids) == 10
    assert record.prompt_tokens == 5
    assert record.finish_reason == "stop"
    assert record.text.startswith(" t")
    assert (record.num_spec_steps, record.num_draft_tokens, record.num_accepted_tokens) == (5, 10, 5)
    assert record.accepted_per_step == [1] * 5
    times = [record.scheduled_s, record.sent_s, record.first_byte_s, *record.chunk_times_s, record.end_s]
    assert times == sorted(times)


async def test_a_role_only_chunk_is_no_token():
    record = await ask(FakeServer(chunk_s=0.05), "hello")
    assert record.first_byte_s < record.chunk_times_s[0] - 0.03


async def test_what_is_asked_for():
    server = FakeServer()
    await ask(server, "hello", max_tokens=7, temperature=0.8, top_p=0.9, top_k=5, ignore_eos=True)
    (body,) = server.bodies
    assert (body["max_tokens"], body["temperature"], body["top_p"], body["top_k"]) == (7, 0.8, 0.9, 5)
    assert body["ignore_eos"] is True
    assert body["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}


async def test_other_servers_get_no_extensions_and_are_timed_by_their_chunks():
    """10 chunks of one token, 20 ms apart, usage only at the end."""
    server = FakeServer(chunk_s=0.02, answer_tokens=10)
    record = await ask(server, "hello", is_vllm=False)
    assert not {"return_token_ids", "top_k", "ignore_eos"} & server.bodies[0].keys()
    assert record.completion_tokens == len(record.chunk_times_s) == 10
    assert record.chunk_tokens == []
    assert ttft_s(record) < 0.1 < e2el_s(record)
    assert tpot_s(record) == pytest.approx(0.02, abs=0.01)
    assert itl_s(record) == []


@pytest.mark.parametrize(
    ("event", "error"), [("5", "stream error: not an object: 5"), ("{x", "stream error: not JSON: {x")]
)
def test_events_that_are_no_objects_are_failures(event, error):
    record = RequestRecord("p", 0.0)
    _Stream(record, 0.0).feed(f"data: {event}\n\n".encode())
    assert record.error == error


def test_a_null_error_is_none():
    record = RequestRecord("p", 0.0)
    _Stream(record, 0.0).feed(b'data: {"error": null, "choices": []}\n\n')
    assert record.error is None


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("!503", "http 503: overloaded"),
        ("!error", "stream error: engine died"),
        ("!truncate", "truncated: the stream ended after 2 tokens without a finish reason"),
        ("!reset", "reset: "),
        ("!hang", "timeout: no end after 0.5 s"),
    ],
)
async def test_faults_are_failures_with_their_reason(word, error):
    record = await ask(FakeServer(), word, timeout_s=0.5)
    assert not record.ok
    assert record.error.startswith(error)
    assert record.end_s is not None
    json.dumps(record.as_dict(), allow_nan=False)


async def test_tokens_before_a_fault_are_kept():
    record = await ask(FakeServer(), "!error")
    assert record.completion_tokens == 2


async def test_a_refused_connection_is_a_failure():
    async with aiohttp.ClientSession() as session:
        target = Target("http://127.0.0.1:9", "m")
        record = await send(session, target, Prompt("p", "x"), Sampling(5), time.perf_counter(), 5.0)
    assert record.error.startswith("refused: ")
