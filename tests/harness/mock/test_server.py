"""What the mock answers, counts and measures, over real sockets."""

import asyncio
import json
from contextlib import asynccontextmanager

import aiohttp
import pytest

from verispec_bench.client.sse import EventParser
from verispec_bench.mock import Fault, MockSettings
from verispec_bench.mock.server import serve
from verispec_bench.mock.tokens import answer, detokenize, tokenize

FAST = {"ttft_ms": 10, "tokens_per_second": 1000}


@asynccontextmanager
async def mock(**settings):
    """A session whose base URL is a mock's, and its server."""
    async with serve(MockSettings(**(FAST | settings))) as (server, url), aiohttp.ClientSession(url) as session:
        yield session, server


async def post(session, path="/v1/chat/completions", **body):
    if path == "/v1/chat/completions":
        body = {"messages": [{"role": "user", "content": "why is the sky blue"}]} | body
    async with session.post(path, json=body) as response:
        return response.status, await response.read()


def events(body: bytes):
    """The data of a stream's events; the last says that it is done."""
    *data, done = EventParser().feed(body)
    assert done == "[DONE]"
    return [json.loads(event) for event in data]


async def test_a_chat_is_streamed_as_vllm_does():
    async with mock(tokens_per_chunk=4) as (session, _):
        asked = {"include_usage": True, "continuous_usage_stats": True}
        _, body = await post(session, stream=True, stream_options=asked, max_tokens=10, return_token_ids=True)
    role, *chunks, usage = events(body)
    expected = answer(tokenize("why is the sky blue"), 10)
    assert role["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [chunk["choices"][0]["token_ids"] for chunk in chunks] == [expected[:4], expected[4:8], expected[8:]]
    assert "".join(chunk["choices"][0]["delta"]["content"] for chunk in chunks) == detokenize(expected)
    assert [chunk["usage"]["completion_tokens"] for chunk in (role, *chunks)] == [0, 4, 8, 10]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None, None, "length"]
    assert usage["choices"] == []
    assert usage["usage"] == {"prompt_tokens": 5, "total_tokens": 15, "completion_tokens": 10}


async def test_usage_and_token_ids_come_only_if_asked_for():
    async with mock() as (session, _):
        _, silent = await post(session, stream=True, max_tokens=3)
        _, at_end = await post(session, stream=True, max_tokens=3, stream_options={"include_usage": True})
    assert not any("usage" in event or "token_ids" in event["choices"][0] for event in events(silent))
    assert [("usage" in event) for event in events(at_end)] == [False, False, False, False, True]


async def test_a_text_and_its_token_ids_are_the_same_prompt():
    async with mock() as (session, _):
        _, tokens = await post(session, "/tokenize", prompt="why is the sky blue")
        ids = json.loads(tokens)["tokens"]
        answers = [
            json.loads((await post(session, "/v1/completions", prompt=prompt, max_tokens=4))[1])
            for prompt in ("why is the sky blue", ids, [ids])
        ]
        _, chat = await post(session, max_tokens=4)
    assert json.loads(tokens)["count"] == 5
    texts = [found["choices"][0]["text"] for found in answers]
    assert texts == 3 * [detokenize(answer(ids, 4))] == 3 * [json.loads(chat)["choices"][0]["message"]["content"]]
    assert all(found["usage"]["prompt_tokens"] == 5 for found in answers)


async def test_an_answer_without_a_limit_has_the_default_length_and_stops():
    async with mock(output_len=7) as (session, _):
        _, unlimited = await post(session)
        _, limited = await post(session, max_completion_tokens=9)
    ends = [
        (json.loads(body)["usage"]["completion_tokens"], json.loads(body)["choices"][0])
        for body in (unlimited, limited)
    ]
    assert [(tokens, choice["finish_reason"]) for tokens, choice in ends] == [(7, "stop"), (9, "length")]


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/v1/chat/completions", {"messages": []}, 400, "messages must be a list of at least one message"),
        ("/v1/chat/completions", {"messages": [{"role": "user"}]}, 400, "each message must have a content"),
        ("/v1/chat/completions", {"n": 2}, 400, "n must be 1"),
        ("/v1/chat/completions", {"max_tokens": 0}, 400, "max_tokens must be a whole number from 1 to 1000000"),
        ("/v1/chat/completions", {"max_tokens": 10**9}, 400, "max_tokens must be a whole number from 1 to 1000000"),
        ("/v1/chat/completions", {"model": "other"}, 404, "the model 'other' does not exist; served: mock"),
        ("/v1/chat/completions", {"stream_options": 1}, 400, "stream_options must be an object"),
        ("/v1/completions", {}, 400, "prompt must be one text or one list of token ids"),
        ("/v1/completions", {"prompt": ["two", "texts"]}, 400, "prompt must be one text or one list of token ids"),
        ("/v1/completions", {"prompt": [1, -1]}, 400, "prompt must be one text or one list of token ids"),
        ("/tokenize", {"prompt": 3}, 400, "prompt must be one text or one list of token ids"),
    ],
)
async def test_a_request_that_cannot_be_answered_is_told_why(path, body, status, message):
    async with mock() as (session, _):
        got, answered = await post(session, path, **body)
    assert (got, json.loads(answered)["error"]["message"]) == (status, message)


async def test_a_body_that_is_not_json_is_refused():
    async with mock() as (session, _), session.post("/v1/completions", data=b"{") as response:
        assert response.status == 400
        assert "is not JSON" in (await response.json())["error"]["message"]


async def test_a_route_that_is_not_there_is_a_404():
    async with mock() as (session, _), session.get("/v1/embeddings") as response:
        assert response.status == 404
        assert "GET /v1/embeddings" in (await response.json())["error"]["message"]


async def raw(settings, *pieces):
    """What comes back for bytes that are sent piece by piece, until the server ends the connection."""
    async with serve(MockSettings(**(FAST | settings))) as (_, url):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0.02)
        received = await asyncio.wait_for(reader.read(), 20)
        writer.close()
        return received.decode()


async def test_requests_on_one_connection_are_answered_in_their_order_wherever_they_are_cut():
    body = b'{"prompt": [1], "max_tokens": 2, "stream": true}'
    head = b"POST /v1/completions HTTP/1.1\r\nHost: m\r\nContent-Length: %d\r\n\r\n" % len(body)
    last = b"GET /version HTTP/1.1\r\nHost: m\r\nConnection: close\r\n\r\n"
    sent = head + body + last
    for cut in (10, len(head) - 1, len(head) + 5, len(head + body), len(head + body) + 3):
        received = await raw({}, sent[:cut], sent[cut:])
        assert received.index("[DONE]") < received.index('{"version": "mock"}')
        assert received.count("HTTP/1.1 200 OK") == 2


async def test_a_client_that_waits_for_a_go_ahead_gets_it():
    head = (
        b"POST /tokenize HTTP/1.1\r\nHost: m\r\nConnection: close\r\nContent-Length: 16\r\nExpect: 100-continue\r\n\r\n"
    )
    received = await raw({}, head, b'{"prompt":"a b"}')
    assert received.startswith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK")
    assert '"count": 2' in received


async def test_a_mistake_of_the_mocks_own_ends_the_connection(monkeypatch):
    async with mock() as (session, server):
        monkeypatch.setattr(server.timing, "as_dict", lambda: 1 / 0)
        with pytest.raises(aiohttp.ClientError):
            await session.get("/mock/timing")
        async with session.get("/health") as response:
            assert response.status == 200


async def test_what_is_no_http_is_refused():
    received = await raw({}, b"\x16\x03\x01 hello\r\n\r\n")
    assert received.startswith("HTTP/1.1 400 Bad Request")


async def test_a_chunk_is_never_early_by_more_than_the_timers_step_and_lateness_does_not_add_up():
    async with mock(ttft_ms=50, tokens_per_second=100) as (session, server):
        await post(session, stream=True, max_tokens=30)
        found = server.timing.as_dict()
    assert found["mean_ttft_ms"] >= 48
    assert found["mean_tpot_ms"] == pytest.approx(10, abs=5)  # sleeps of 10 ms in a row would add their lateness up
    assert found["lateness_p50_ms"] >= -2


async def test_what_was_sent_is_counted_until_it_is_reset():
    async with mock(tokens_per_chunk=4) as (session, _):
        for length in (10, 3):
            await post(session, stream=True, max_tokens=length)
        await post(session, max_tokens=5)  # not streamed: no first chunk, no lateness
        async with session.get("/mock/timing") as response:
            before = await response.json()
        async with session.post("/mock/reset") as response:
            assert response.status == 200
        async with session.get("/mock/timing") as response:
            after = await response.json()
    assert {key: before[key] for key in ("requests", "chunks", "tokens", "failed")} == {
        "requests": 2,
        "chunks": 4,
        "tokens": 13,
        "failed": 0,
    }
    assert after["requests"] == 0
    assert after["mean_ttft_ms"] is None


async def test_no_more_requests_run_than_may_and_those_that_wait_are_seen():
    async with mock(max_running=2, ttft_ms=200) as (session, server):
        asked = [asyncio.create_task(post(session, stream=True, max_tokens=1)) for _ in range(5)]
        while server.traffic.running < 2:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        async with session.get("/metrics") as response:
            text = await response.text()
        await asyncio.gather(*asked)
        found = server.timing.as_dict()
    labels = '{engine="0",model_name="mock"}'
    assert f"vllm:num_requests_running{labels} 2.0" in text
    assert f"vllm:num_requests_waiting{labels} 3.0" in text
    assert server.traffic.running == 0
    assert found["p99_ttft_ms"] > 500  # the last waits for two others
    assert found["requests"] == 5


async def test_counters_are_honest():
    async with mock() as (session, _):
        await post(session, stream=True, max_tokens=4)
        await post(session)
        async with session.get("/metrics") as response:
            text = await response.text()
    labels = 'engine="0",model_name="mock"'
    assert f"vllm:prompt_tokens_total{{{labels}}} 10.0" in text
    assert f"vllm:generation_tokens_total{{{labels}}} 68.0" in text
    assert 'vllm:request_success_total{engine="0",finished_reason="length",model_name="mock"} 1.0' in text
    assert 'vllm:request_success_total{engine="0",finished_reason="stop",model_name="mock"} 1.0' in text


async def test_a_client_that_leaves_frees_its_place():
    async with mock(max_running=1, error_rate=1, error_kind=Fault.HANG) as (session, server):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await post(session, stream=True, max_tokens=4)
        for _ in range(100):
            if not server.traffic.running:
                break
            await asyncio.sleep(0.05)
        assert server.traffic.running == 0


@pytest.mark.parametrize(("kind", "status"), [(Fault.HTTP_503, 503), (Fault.HTTP_429, 429), (Fault.STREAM_ERROR, 500)])
async def test_a_fault_has_its_status_where_the_answer_is_not_streamed(kind, status):
    async with mock(error_rate=1, error_kind=kind) as (session, _):
        got, body = await post(session, max_tokens=4)
    assert got == status
    assert json.loads(body)["error"]["code"] == status


@pytest.mark.parametrize("kind", [Fault.RESET, Fault.TRUNCATE])
async def test_half_a_body_is_no_answer(kind):
    async with mock(error_rate=1, error_kind=kind) as (session, _):
        with pytest.raises(aiohttp.ClientError):
            await post(session, max_tokens=4)
