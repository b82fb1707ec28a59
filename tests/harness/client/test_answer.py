"""Bytes of answers, hand-made: what is recorded of them, and which are failures."""

import json

import pytest

from verispec_bench.client.answer import StreamedAnswer, WholeAnswer
from verispec_bench.client.record import RequestRecord

DONE = b"data: [DONE]\n\n"


def event(text="", usage=None, finish=None, **more) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    body = {"choices": [choice], **({} if usage is None else {"usage": {"completion_tokens": usage}}), **more}
    return f"data: {json.dumps(body)}\n\n".encode()


def last(usage) -> bytes:
    return (
        f"data: {json.dumps({'choices': [], 'usage': {'prompt_tokens': 3, 'completion_tokens': usage}})}\n\n".encode()
    )


def streamed(*pieces: bytes, error=None) -> RequestRecord:
    """Pieces that arrive at 1 s, 2 s, 3 s, …"""
    record = RequestRecord("p", 0.0)
    answer = StreamedAnswer(record)
    for at, piece in enumerate(pieces, start=1):
        answer.feed(piece, float(at))
    record.error = record.error or error
    answer.finish()
    return record


def whole(body: bytes) -> RequestRecord:
    record = RequestRecord("p", 0.0, streamed=False)
    answer = WholeAnswer(record)
    answer.feed(body[:5], 1.0)
    answer.feed(body[5:], 2.0)
    answer.finish()
    return record


def test_running_usage_says_what_each_chunk_carries():
    record = streamed(event("", 0), event("abc", 3), event("", 4), event("ef", 6, "stop"), last(6), DONE)
    assert record.ok
    assert (record.chunk_times_s, record.chunk_tokens) == ([2.0, 3.0, 4.0], [3, 1, 2])
    assert (record.text, record.completion_tokens, record.prompt_tokens) == ("abcef", 6, 3)


def test_tokens_that_only_the_last_usage_counts_are_not_lost():
    record = streamed(event("a", 1), event("", None, "stop"), last(2), DONE)
    assert record.chunk_tokens == [1, 1]
    assert sum(record.chunk_tokens) == record.completion_tokens == 2


@pytest.mark.parametrize(
    "pieces",
    [
        (event("a"), event("b"), event("c", None, "stop"), last(30)),  # usage at the end, as OpenAI sends it
        (event("a"), event("b"), event("c", 30, "stop")),  # usage in the last chunk, as others do
    ],
)
def test_without_running_usage_chunks_are_timed_and_their_tokens_unknown(pieces):
    record = streamed(*pieces, DONE)
    assert (record.chunk_times_s, record.chunk_tokens) == ([1.0, 2.0, 3.0], [])
    assert record.completion_tokens == 30


def test_usage_that_shrinks_says_nothing_of_the_chunks():
    record = streamed(event("a", 2), event("b", 5, "stop"), last(4), DONE)
    assert (record.chunk_times_s, record.chunk_tokens, record.completion_tokens) == ([1.0, 2.0], [], 4)


def test_pieces_may_hold_several_events_or_half_of_one():
    stream = event("", 0) + event("a", 1) + event("b", 2, "stop") + last(2) + DONE
    assert streamed(stream).chunk_tokens == [1, 1]
    for cut in range(1, len(stream)):
        record = streamed(stream[:cut], stream[cut:])
        assert (record.ok, record.text, record.chunk_tokens) == (True, "ab", [1, 1])


def test_reasoning_is_text_of_the_answer_and_is_not_counted_twice():
    delta = {"reasoning": "hm", "reasoning_content": "hm"}
    thought = f"data: {json.dumps({'choices': [{'delta': delta}], 'usage': {'completion_tokens': 1}})}\n\n".encode()
    assert streamed(thought, event(" yes", 2, "stop"), DONE).text == "hm yes"


def test_ids_and_speculation_are_kept():
    metrics = {"num_spec_steps": 2, "num_draft_tokens": 6, "num_accepted_draft_tokens": 3, "per_step_accepted": [1, 2]}
    answer = {"choices": [{"text": "x", "token_ids": [7, 8], "finish_reason": "length"}], "usage": None}
    final = {"choices": [], "usage": {"completion_tokens": 2}, "metrics": {"speculative_decoding": metrics}}
    record = streamed(f"data: {json.dumps(answer)}\n\n".encode(), f"data: {json.dumps(final)}\n\n".encode(), DONE)
    assert (record.token_ids, record.finish_reason) == ([7, 8], "length")
    assert (record.num_spec_steps, record.num_draft_tokens, record.num_accepted_tokens) == (2, 6, 3)
    assert (record.accepted_per_step, record.drafted_per_step) == ([1, 2], None)


@pytest.mark.parametrize(
    ("pieces", "error"),
    [
        ([b"data: 5\n\n"], "stream error: not an object: 5"),
        ([b"data: {x\n\n"], "stream error: not JSON: {x"),
        ([b'data: {"choices": 5}\n\n'], 'stream error: of another form: {"choices": 5}'),
        ([b'data: {"choices": [{"delta": 5}]}\n\n'], "stream error: of another form: "),
        ([b'data: {"error": {"message": "engine died"}}\n\n', DONE], "stream error: engine died"),
        ([b'data: {"error": "engine died"}\n\n', DONE], "stream error: engine died"),
        ([event("a", 1, "abort"), DONE], "stream error: finish reason 'abort'"),
        ([event("a", 10)], "truncated: the stream ended after 10 tokens without a finish reason"),
        ([event("a", 10), DONE], "truncated: the stream ended after 10 tokens without a finish reason"),
        ([event("a", 10, "stop")], "truncated: the stream ended after 10 tokens without a finish reason"),
        ([], "truncated: the stream ended after 0 tokens without a finish reason"),
    ],
)
def test_broken_streams_are_failures_with_their_reason(pieces, error):
    record = streamed(*pieces)
    assert not record.ok
    assert record.error.startswith(error)
    assert record.error_kind == error.partition(":")[0]


def test_the_first_fault_is_the_reason():
    assert streamed(event("a", 1), error="reset: x").error == "reset: x"
    assert streamed(b'data: {"error": "first"}\n\n', b'data: {"error": "second"}\n\n').error == "stream error: first"


def test_a_null_error_is_none():
    assert streamed(event("a", 1, "stop", error=None), DONE).ok


def test_what_came_before_a_fault_is_kept():
    record = streamed(event("a"), event("b"), error="reset: x")
    assert (record.text, record.chunk_times_s) == ("ab", [1.0, 2.0])


@pytest.mark.parametrize("choice", [{"message": {"content": "hi"}}, {"text": "hi"}])
def test_a_whole_answer_is_one_chunk_at_its_end(choice):
    answer = {"choices": [choice | {"finish_reason": "stop", "token_ids": [1, 2]}], "usage": {"completion_tokens": 2}}
    record = whole(json.dumps(answer).encode())
    assert record.ok
    assert (record.chunk_times_s, record.chunk_tokens, record.completion_tokens) == ([2.0], [2], 2)
    assert (record.text, record.token_ids, record.streamed) == ("hi", [1, 2], False)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"error": {"message": "no"}}', "answer error: no"),
        (b"<html>", "answer error: no completion: <html>"),
        (b"[1, 2, 3, 4]", "answer error: no completion: [1, 2, 3, 4]"),
        (b'{"choices": [{"text": "x"}]}', "truncated: the answer has no finish reason"),
    ],
)
def test_whole_answers_that_are_no_completions_are_failures(body, error):
    assert whole(body).error == error
