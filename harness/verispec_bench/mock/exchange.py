"""One request and its answer: chunks at their due times, or a fault at the middle."""

import asyncio
import time
from collections.abc import Sequence

from verispec_bench.mock.encoding import Encoder, error_body, error_event
from verispec_bench.mock.http import Request
from verispec_bench.mock.self_timing import SelfTiming
from verispec_bench.mock.settings import Fault
from verispec_bench.mock.traffic import Traffic

_TOLD = "the mock was told to fail"


class Exchange:
    """Answers one request.

    Args:
        request: what is answered.
        encoder: its answer.
        due_s: when each chunk is to be written, on time.perf_counter().
        fault: how the answer goes wrong; None: not at all.
        timing, traffic: where what happened is counted.

    """

    def __init__(
        self,
        request: Request,
        encoder: Encoder,
        due_s: Sequence[float],
        fault: Fault | None,
        timing: SelfTiming,
        traffic: Traffic,
    ) -> None:
        self._read_s = request.read_s
        self._reply = request.reply
        self._encoder = encoder
        self._due_s = due_s
        self._fault = fault
        self._timing = timing
        self._traffic = traffic

    async def stream(self) -> None:
        """A stream of events."""
        self._reply.begin_stream()
        sent_s: list[float] = []
        for index, due_s in enumerate(self._due_s):
            if self._fault and index == len(self._due_s) // 2:
                return await self._fail_stream()
            chunk, num_tokens = self._encoder.chunk(index)
            await _until(due_s)
            await self._reply.chunk(chunk, last=index == len(self._due_s) - 1)
            sent_s.append(time.perf_counter())
            self._timing.sent(num_tokens, sent_s[-1] - due_s)
            self._traffic.generated(num_tokens)
            if index == 0:
                self._timing.begun(sent_s[0] - self._read_s)
                first_tokens = num_tokens
        if later := self._encoder.num_tokens - first_tokens:
            self._timing.ended((sent_s[-1] - sent_s[0]) / later)
        self._traffic.finished(self._encoder.finish_reason)
        return None

    async def whole(self) -> None:
        """One body, when its last token is due."""
        body = self._encoder.whole()
        if self._fault:
            return await self._fail_whole(body)
        await _until(self._due_s[-1])
        self._reply.whole(body)
        self._traffic.generated(self._encoder.num_tokens)
        self._traffic.finished(self._encoder.finish_reason)
        return None

    async def _fail_stream(self) -> None:
        """A stream that went well so far goes wrong; a truncated one just ends."""
        if self._fault is Fault.HANG:
            await _forever()
        elif self._fault is Fault.RESET:
            self._reply.abort()
            return
        elif self._fault is Fault.STREAM_ERROR:
            await self._reply.chunk(error_event(_TOLD))
        self._reply.end_stream()

    async def _fail_whole(self, body: bytes) -> None:
        """Half of a body, or an error: what is not streamed has its status before its answer."""
        await _until(self._due_s[len(self._due_s) // 2])
        if self._fault is Fault.STREAM_ERROR:
            self._reply.json(error_body(_TOLD, 500), 500)
            return
        self._reply.half(body)
        if self._fault is Fault.HANG:
            await _forever()
        elif self._fault is Fault.RESET:
            self._reply.abort()
        else:
            self._reply.close()


async def _until(due_s: float) -> None:
    """Sleep; due times are absolute, so that a late chunk does not make the next one late."""
    wait = due_s - time.perf_counter()
    if wait > 0:
        await asyncio.sleep(wait)


async def _forever() -> None:
    """Until the client leaves: this is then cancelled."""
    await asyncio.Event().wait()
