"""One streaming chat completion, from the first byte sent to its record."""

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Any

import aiohttp

from verispec_bench.client.record import RequestRecord
from verispec_bench.client.sse import EventParser
from verispec_bench.workload.prompt import Prompt


@dataclass(frozen=True)
class Target:
    """Where requests go.

    Attributes:
        base_url: the server, without /v1.
        model: the served model's id.
        is_vllm: ask for vLLM's extensions (token ids, running usage).

    """

    base_url: str
    model: str
    is_vllm: bool = True


@dataclass(frozen=True)
class Sampling:
    """What each request asks for."""

    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = -1
    ignore_eos: bool = False

    def body(self, target: Target, prompt: Prompt) -> dict[str, Any]:
        """The JSON body of /v1/chat/completions."""
        body: dict[str, Any] = {
            "model": target.model,
            "messages": [{"role": "user", "content": prompt.text}],
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if target.is_vllm:
            body["stream_options"]["continuous_usage_stats"] = True
            body |= {"return_token_ids": True, "ignore_eos": self.ignore_eos, "top_k": self.top_k}
        return body


async def send(
    session: aiohttp.ClientSession, target: Target, prompt: Prompt, sampling: Sampling, start: float, timeout_s: float
) -> RequestRecord:
    """Send one request now; faults are recorded, never raised.

    Args:
        start: time.perf_counter() at the start of the run.
        timeout_s: after this long the request has failed.

    """
    record = RequestRecord(prompt.id, scheduled_s=time.perf_counter() - start)
    stream = _Stream(record, start)
    try:
        async with asyncio.timeout(timeout_s):
            record.sent_s = time.perf_counter() - start
            url = f"{target.base_url}/v1/chat/completions"
            async with session.post(url, json=sampling.body(target, prompt)) as response:
                if response.status != 200:
                    record.error = f"http {response.status}: {(await response.text())[:300]}"
                else:
                    async for received in response.content.iter_any():
                        stream.feed(received)
                    stream.finish()
    except TimeoutError:
        record.error = f"timeout: no end after {timeout_s:g} s"
    except aiohttp.ClientConnectorError as error:
        record.error = f"refused: {error}"
    except (aiohttp.ClientError, OSError) as error:
        record.error = f"reset: {type(error).__name__}: {error}"
    record.end_s = time.perf_counter() - start
    return record


class _Stream:
    """Fills a record from the bytes of a response."""

    def __init__(self, record: RequestRecord, start: float) -> None:
        self._record = record
        self._start = start
        self._parser = EventParser()
        self._done = False
        self._content_times: list[float] = []

    def feed(self, received: bytes) -> None:
        now = time.perf_counter() - self._start
        if self._record.first_byte_s is None:
            self._record.first_byte_s = now
        for data in self._parser.feed(received):
            if data == "[DONE]":
                self._done = True
            else:
                self._event(data, now)

    def finish(self) -> None:
        """The body has ended: was it whole, and did usage come with the chunks or only at the end?"""
        record = self._record
        if len(self._content_times) > len(record.chunk_times_s):
            record.chunk_times_s, record.chunk_tokens = self._content_times, []
        if record.error is None and not (self._done and record.finish_reason):
            got = record.completion_tokens if record.completion_tokens is not None else len(record.chunk_times_s)
            record.error = f"truncated: the stream ended after {got} tokens without a finish reason"

    def _event(self, data: str, now: float) -> None:
        record = self._record
        try:
            event = json.loads(data)
        except json.JSONDecodeError:
            record.error = record.error or f"stream error: not JSON: {data[:120]}"
            return
        if not isinstance(event, dict):
            record.error = record.error or f"stream error: not an object: {data[:120]}"
            return
        if error := event.get("error"):
            message = error.get("message", error) if isinstance(error, dict) else error
            record.error = record.error or f"stream error: {message}"
            return
        for choice in event.get("choices") or []:
            delta = choice.get("delta") or {}
            if content := delta.get("content") or delta.get("reasoning") or delta.get("reasoning_content"):
                record.text += content
                self._content_times.append(now)
            record.finish_reason = choice.get("finish_reason") or record.finish_reason
            if choice.get("token_ids"):
                record.token_ids = (record.token_ids or []) + choice["token_ids"]
        if usage := event.get("usage"):
            self._usage(usage, now)
        if metrics := (event.get("metrics") or {}).get("speculative_decoding"):
            self._speculation(metrics)

    def _usage(self, usage: dict[str, Any], now: float) -> None:
        record = self._record
        record.prompt_tokens = usage.get("prompt_tokens", record.prompt_tokens)
        total = usage.get("completion_tokens")
        if total is None:
            return
        arrived = total - (record.completion_tokens or 0)
        record.completion_tokens = total
        if arrived > 0:
            record.chunk_times_s.append(now)
            record.chunk_tokens.append(arrived)

    def _speculation(self, metrics: dict[str, Any]) -> None:
        record = self._record
        record.num_spec_steps = metrics.get("num_spec_steps")
        record.num_draft_tokens = metrics.get("num_draft_tokens")
        record.num_accepted_tokens = metrics.get("num_accepted_draft_tokens")
        record.accepted_per_step = metrics.get("per_step_accepted")
        record.drafted_per_step = metrics.get("per_step_drafted")
