"""The mock server: an OpenAI-compatible HTTP server whose chunks are sent when they are due.

It answers /v1/chat/completions and /v1/completions (streamed or not), /v1/models, /tokenize, /health, /version and
/metrics as vLLM does, GET /mock/timing with what it measured of itself, and POST /mock/reset to start that anew.
"""

import asyncio
import contextlib
import gc
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from verispec_bench.errors import InfrastructureFailed
from verispec_bench.mock.body import Ask, BadRequest, prompt_ids, read_body
from verispec_bench.mock.encoding import Answer, Encoder, error_body
from verispec_bench.mock.exchange import Exchange
from verispec_bench.mock.http import Connection, Request
from verispec_bench.mock.schedule import Schedule
from verispec_bench.mock.self_timing import SelfTiming
from verispec_bench.mock.settings import Fault, MockSettings
from verispec_bench.mock.tokens import answer
from verispec_bench.mock.traffic import Traffic
from verispec_bench.open_files import allow_many_connections

BACKLOG = 4096
"""Connections that may wait: with the usual 100 many of a thousand at once would wait a second for their second try."""
LAG_INTERVAL_S = 0.02


class MockServer:
    """One server: its settings, its clocks and counters, its routes."""

    def __init__(self, settings: MockSettings) -> None:
        self.settings = settings
        self.timing = SelfTiming()
        self.traffic = Traffic(settings.model)
        self._schedule = Schedule(settings)
        self._slots = asyncio.Semaphore(settings.max_running) if settings.max_running else contextlib.nullcontext()
        self._numbers = 0
        model = {"id": settings.model, "object": "model", "created": 0, "owned_by": "verispec"}
        self._constant: dict[str, Any] = {
            "GET /v1/models": {"object": "list", "data": [model]},
            "GET /version": {"version": "mock"},
            "GET /health": {},
        }

    async def respond(self, request: Request) -> None:
        """Answer any request."""
        reply, route = request.reply, request.route
        try:
            if route in ("POST /v1/chat/completions", "POST /v1/completions"):
                await self._complete(request, chat="chat" in route)
            elif route == "GET /metrics":
                reply.whole(self.traffic.exposition(), kind="text/plain; version=0.0.4")
            elif route == "GET /mock/timing":
                reply.json(self.timing.as_dict())
            elif route == "POST /mock/reset":
                self._reset()
                reply.json({})
            elif route == "POST /tokenize":
                reply.json(_tokens(_parsed(request.body)))
            elif route in self._constant:
                reply.json(self._constant[route])
            else:
                raise BadRequest(f"{route}: there is no such route", status=404)
        except BadRequest as error:
            reply.json(error_body(str(error), error.status), error.status)

    async def _complete(self, request: Request, chat: bool) -> None:
        """One completion, from its arrival to the end of its answer."""
        number = self._numbers
        self._numbers += 1
        ask = read_body(_parsed(request.body), chat, self.settings.model)
        fault = self._schedule.fault(number)
        self.timing.failed += fault is not None
        if fault in (Fault.HTTP_503, Fault.HTTP_429):
            retry = "Retry-After: 1\r\n" if fault is Fault.HTTP_429 else ""
            request.reply.json(error_body("the mock was told to refuse", int(fault)), int(fault), retry)
            return
        encoder = Encoder(ask, self._answer(ask, number), self.settings.model)
        with self.traffic.waits():
            async with self._slots:
                # Due times count from the arrival; of a request that had to wait for a slot, from there.
                start_s = time.perf_counter() if self.settings.max_running else request.read_s
                due_s = [start_s + due for due in self._schedule.due_times_s(number, encoder.num_tokens)]
                with self.traffic.runs(len(ask.prompt_ids)):
                    exchange = Exchange(request, encoder, due_s, fault, self.timing, self.traffic)
                    await (exchange.stream() if ask.stream else exchange.whole())

    def _answer(self, ask: Ask, number: int) -> Answer:
        token_ids = answer(ask.prompt_ids, ask.max_tokens or self.settings.output_len)
        prefix, finish_reason = "chatcmpl" if ask.chat else "cmpl", "length" if ask.max_tokens else "stop"
        return Answer(f"{prefix}-{number}", int(time.time()), token_ids, self.settings.tokens_per_chunk, finish_reason)

    def _reset(self) -> None:
        """Forget what was measured, and number requests from 0: the same load then meets the same jitter and faults."""
        self.timing.reset()
        self._numbers = 0

    async def watch_loop(self) -> None:
        """While requests run, measure how late the event loop comes to its timers."""
        while True:
            due = time.perf_counter() + LAG_INTERVAL_S
            await asyncio.sleep(LAG_INTERVAL_S)
            if self.traffic.running:
                self.timing.loop_lagged(time.perf_counter() - due)


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from error


def _tokens(body: Any) -> dict[str, Any]:
    ids = prompt_ids(body.get("prompt") if isinstance(body, dict) else None)
    return {"count": len(ids), "max_model_len": None, "tokens": ids, "token_strs": None}


@asynccontextmanager
async def serve(
    settings: MockSettings, host: str = "127.0.0.1", port: int = 0
) -> AsyncIterator[tuple[MockServer, str]]:
    """Serve until the block is left.

    Yields:
        The server and its base URL; port 0 takes a free one.

    Raises:
        InfrastructureFailed: the port is busy, or there is no such host.

    """
    allow_many_connections()
    mock, connections = MockServer(settings), set[Connection]()
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(
            lambda: Connection(mock.respond, connections), host, port, backlog=BACKLOG, start_serving=True
        )
    except OSError as error:
        message = f"port {port} of {host}: {error.strerror or error}; choose another with --port"
        raise InfrastructureFailed(message) from error
    gc.freeze()
    watch = loop.create_task(mock.watch_loop())
    try:
        yield mock, f"http://{host}:{server.sockets[0].getsockname()[1]}"
    finally:
        watch.cancel()
        server.close()
        for connection in list(connections):
            connection.transport.abort()
        await asyncio.sleep(0)
