"""From the bytes of an answer to its record: a stream of events, or one JSON object."""

import json
from typing import Any

from verispec_bench.client.record import RequestRecord
from verispec_bench.client.sse import EventParser

_FAULTY_ENDS = ("abort", "error")
"""Finish reasons with which vLLM ends a request that it gave up."""


class StreamedAnswer:
    """Reads events into a record, piece by piece.

    Args:
        record: filled as the pieces are fed.

    """

    def __init__(self, record: RequestRecord) -> None:
        self._record = record
        self._parser = EventParser()
        self._done = False
        self._content_times: list[float] = []
        self._usage_runs = True

    def feed(self, received: bytes, at_s: float) -> None:
        """Bytes that arrived together.

        Args:
            received: cut anywhere.
            at_s: when, in seconds since the start of the run.

        """
        for data in self._parser.feed(received):
            if data == "[DONE]":
                self._done = True
            else:
                self._event(data, at_s)

    def finish(self) -> None:
        """The body has ended, or the request failed: was it whole, and did usage come with the chunks?"""
        record = self._record
        if not self._usage_runs or sum(record.chunk_tokens) != (record.completion_tokens or 0):
            record.chunk_times_s, record.chunk_tokens = self._content_times, []
        if record.error is None and not (self._done and record.finish_reason):
            got = record.completion_tokens if record.completion_tokens is not None else len(record.chunk_times_s)
            record.error = f"truncated: the stream ended after {got} tokens without a finish reason"

    def _event(self, data: str, at_s: float) -> None:
        record = self._record
        try:
            event = json.loads(data)
        except (json.JSONDecodeError, RecursionError):
            record.error = record.error or f"stream error: not JSON: {data[:120]}"
            return
        if not isinstance(event, dict):
            record.error = record.error or f"stream error: not an object: {data[:120]}"
            return
        try:
            if _error(record, event):
                return
            carries_text = _choices(record, event, "delta")
            usage = event.get("usage")
            if carries_text:
                self._content_times.append(at_s)
                self._usage_runs = self._usage_runs and usage is not None
            if usage is not None and (arrived := _usage(record, usage)) > 0:
                record.chunk_times_s.append(at_s)
                record.chunk_tokens.append(arrived)
            _speculation(record, event)
        except (AttributeError, KeyError, TypeError, ValueError):
            record.error = record.error or f"stream error: of another form: {data[:120]}"


class WholeAnswer:
    """Reads one JSON object into a record; it counts as one chunk, which arrived with its last byte.

    Args:
        record: filled when the body has ended.

    """

    def __init__(self, record: RequestRecord) -> None:
        self._record = record
        self._pieces: list[bytes] = []
        self._at_s = 0.0

    def feed(self, received: bytes, at_s: float) -> None:
        """Bytes that arrived together."""
        self._pieces.append(received)
        self._at_s = at_s

    def finish(self) -> None:
        """The body has ended, or the request failed: of a failed one nothing is known."""
        record, body = self._record, b"".join(self._pieces)
        if record.error is not None:
            return
        try:
            answer = json.loads(body)
            if not _error(record, answer):
                _choices(record, answer, "message")
                if answer.get("usage") is not None and (arrived := _usage(record, answer["usage"])) > 0:
                    record.chunk_tokens.append(arrived)
                _speculation(record, answer)
                record.chunk_times_s.append(self._at_s)
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
            record.error = f"answer error: no completion: {body[:120].decode('utf-8', 'replace')}"
        if record.error is None and not record.finish_reason:
            record.error = "truncated: the answer has no finish reason"


def _error(record: RequestRecord, answer: dict[str, Any]) -> bool:
    """Whether it is an error object in spite of status 200."""
    error = answer.get("error")
    if error:
        message = error.get("message", error) if isinstance(error, dict) else error
        record.error = record.error or f"{_where(record)}: {message}"
    return bool(error)


def _choices(record: RequestRecord, answer: dict[str, Any], message: str) -> bool:
    """Keeps text, ids and finish reason; whether there was text. `message`: the chat's key, "delta" or "message"."""
    text = ""
    for choice in answer.get("choices") or []:
        said = choice.get(message) or {}
        reasoning = said.get("reasoning") or said.get("reasoning_content") or ""
        text += choice.get("text") or reasoning + (said.get("content") or "")
        if choice.get("token_ids"):
            record.token_ids = (record.token_ids or []) + choice["token_ids"]
        if reason := choice.get("finish_reason"):
            record.finish_reason = reason
            if reason in _FAULTY_ENDS:
                record.error = record.error or f"{_where(record)}: finish reason {reason!r}"
    record.text += text
    return bool(text)


def _usage(record: RequestRecord, usage: dict[str, Any]) -> int:
    """Keeps the counts so far; how many tokens are new."""
    record.prompt_tokens = usage.get("prompt_tokens", record.prompt_tokens)
    total = usage.get("completion_tokens")
    if total is None:
        return 0
    arrived = int(total) - (record.completion_tokens or 0)
    record.completion_tokens = int(total)
    return arrived


def _speculation(record: RequestRecord, answer: dict[str, Any]) -> None:
    metrics = (answer.get("metrics") or {}).get("speculative_decoding")
    if metrics:
        record.num_spec_steps = metrics.get("num_spec_steps")
        record.num_draft_tokens = metrics.get("num_draft_tokens")
        record.num_accepted_tokens = metrics.get("num_accepted_draft_tokens")
        record.accepted_per_step = metrics.get("per_step_accepted")
        record.drafted_per_step = metrics.get("per_step_drafted")


def _where(record: RequestRecord) -> str:
    return "stream error" if record.streamed else "answer error"
