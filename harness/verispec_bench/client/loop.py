"""The load loop of one process: a request is let go when it is due and a slot is free."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from verispec_bench.client.answer import StreamedAnswer, WholeAnswer
from verispec_bench.client.http import Connections
from verispec_bench.client.record import RequestRecord
from verispec_bench.client.request import Call
from verispec_bench.client.wire import exchange
from verispec_bench.open_files import allow_many_connections

OnDone = Callable[[int, RequestRecord], None]
OnInFlight = Callable[[int], None]

ABORTED = "aborted: the run was interrupted"
_TIMER_S = 0.001
"""uvloop's timers count whole milliseconds; shorter waits would spin."""
_READING_TURN_S = 0.0005
"""So long are answers read between two looks at the sockets."""
_MOST_UNREAD = 64
"""Pieces of one answer that are kept; a long answer is read in parts, so that its bytes don't fill the memory."""


@dataclass(frozen=True)
class _Part:
    """Pieces of an answer in the order of their arrival, each with its time.

    Attributes:
        last: the answer has ended.

    """

    index: int
    record: RequestRecord
    answer: StreamedAnswer | WholeAnswer
    pieces: list[tuple[float, bytes]]
    last: bool


class LoadLoop:
    """Sends calls and collects their records.

    A slot takes the next call, waits until it is due, sends it, and takes the next when the answer has ended. So a
    closed loop is a fixed number of slots and nothing due; an open loop has a slot for every call; and with fewer
    slots due calls queue here, first come first served.

    While answers arrive only their bytes and times are kept: what the bytes say is read in short turns between them,
    so that reading one answer does not delay the times of the others.

    Args:
        base_url: the server.
        calls: in the order in which they are due.
        concurrency: number of slots; None: one for each call.
        timeout_s: a request that takes longer has failed.
        on_done: called with the index and the record of each request that has ended.
        on_in_flight: called with the number of requests sent and not ended whenever it changes.

    """

    def __init__(
        self,
        base_url: str,
        calls: Sequence[Call],
        *,
        concurrency: int | None,
        timeout_s: float,
        on_done: OnDone,
        on_in_flight: OnInFlight,
    ) -> None:
        self._connections = Connections(base_url)
        self._calls = calls
        self._slots = min(concurrency or len(calls), len(calls))
        self._connected_ahead = self._slots if concurrency is not None else 0
        self._timeout_s = timeout_s
        self._on_done = on_done
        self._on_in_flight = on_in_flight
        self._in_flight = 0
        self._waiting: Iterator[tuple[int, Call]] = iter(enumerate(calls))
        self._unread: asyncio.Queue[_Part | None] = asyncio.Queue()

    async def run(self, start: Callable[[], Awaitable[float]]) -> None:
        """Connect, and send everything.

        The connections of a limited loop are opened before it starts: a thousand handshakes at once would show in the
        latencies of the first thousand answers, and say nothing of the server.

        Args:
            start: waits for the start, on time.perf_counter()'s clock; due times count from there.

        Raises:
            CancelledError: interrupted; requests in flight have ended as ABORTED, and were handed over.

        """
        allow_many_connections()
        reader = asyncio.create_task(self._read())
        try:
            async with self._connections:
                await self._connections.open(self._connected_ahead)
                began = await start()
                while (left_s := began - time.perf_counter()) > 0:
                    await asyncio.sleep(max(left_s, _TIMER_S))
                async with asyncio.TaskGroup() as slots:
                    for _ in range(self._slots):
                        slots.create_task(self._slot(began))
        finally:
            self._unread.put_nowait(None)
            await reader

    async def _slot(self, start: float) -> None:
        free_s = 0.0
        for index, call in self._waiting:
            due_s = time.perf_counter() - start if call.due_s is None else call.due_s
            while (left_s := due_s - (time.perf_counter() - start)) > 0:
                await asyncio.sleep(max(left_s, _TIMER_S))
            await self._send(index, call, start, max(free_s, due_s))
            free_s = time.perf_counter() - start

    async def _send(self, index: int, call: Call, start: float, released: float) -> None:
        record = RequestRecord(
            call.prompt_id,
            scheduled_s=released if call.due_s is None else call.due_s,
            released_s=released,
            streamed=call.stream,
            sent_tokens=call.sent_tokens,
            max_tokens=call.max_tokens,
        )
        answer = StreamedAnswer(record) if call.stream else WholeAnswer(record)
        pieces: list[tuple[float, bytes]] = []

        def keep(piece: bytes, arrived: float) -> None:
            nonlocal pieces
            pieces.append((arrived - start, piece))
            if len(pieces) == _MOST_UNREAD:
                self._unread.put_nowait(_Part(index, record, answer, pieces, last=False))
                pieces = []

        self._count(1)
        record.sent_s = time.perf_counter() - start
        try:
            record.error = await exchange(self._connections, call, self._timeout_s, keep)
        except asyncio.CancelledError:
            record.error = ABORTED
            raise
        finally:
            record.end_s = time.perf_counter() - start
            self._count(-1)
            self._unread.put_nowait(_Part(index, record, answer, pieces, last=True))

    async def _read(self) -> None:
        """Read parts as they come, a short turn at a time."""
        turn_ends = 0.0
        while part := await self._unread.get():
            for at_s, piece in part.pieces:
                if part.record.first_byte_s is None:
                    part.record.first_byte_s = at_s
                part.answer.feed(piece, at_s)
                if time.perf_counter() > turn_ends:
                    await asyncio.sleep(0)
                    turn_ends = time.perf_counter() + _READING_TURN_S
            if part.last:
                part.answer.finish()
                self._on_done(part.index, part.record)

    def _count(self, change: int) -> None:
        self._in_flight += change
        self._on_in_flight(self._in_flight)
