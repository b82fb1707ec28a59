"""The mock server: an OpenAI-compatible HTTP server whose chunks are sent when they are due.

It answers /v1/chat/completions and /v1/completions (streamed or not), /v1/models, /tokenize, /health, /version and
/metrics as vLLM does, GET /mock/timing with what it measured of itself, and POST /mock/reset to start that anew.
"""

import asyncio
import contextlib
import gc
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from verispec_bench.errors import InfrastructureFailed
from verispec_bench.mock.body import Ask, BadRequest, prompt_ids, read_body
from verispec_bench.mock.encoding import Answer, Encoder, error_body
from verispec_bench.mock.exchange import Exchange
from verispec_bench.mock.schedule import Schedule
from verispec_bench.mock.self_timing import SelfTiming
from verispec_bench.mock.settings import Fault, MockSettings
from verispec_bench.mock.tokens import answer
from verispec_bench.mock.traffic import Traffic

BACKLOG = 4096
"""Connections that may wait: with the usual 128 many of a thousand at once would wait a second for their second try."""
LAG_INTERVAL_S = 0.02
MAX_BODY = 64 << 20


class MockServer:
    """One server: its settings, its clocks and counters, its routes."""

    def __init__(self, settings: MockSettings) -> None:
        self.settings = settings
        self.timing = SelfTiming()
        self.traffic = Traffic(settings.model)
        self._schedule = Schedule(settings)
        self._slots = asyncio.Semaphore(settings.max_running) if settings.max_running else contextlib.nullcontext()
        self._numbers = 0

    def app(self) -> web.Application:
        """All routes."""
        app = web.Application(client_max_size=MAX_BODY)
        model = {"id": self.settings.model, "object": "model", "created": 0, "owned_by": "verispec"}
        app.add_routes(
            [
                web.post("/v1/chat/completions", self._chat),
                web.post("/v1/completions", self._completion),
                web.post("/tokenize", self._tokenize),
                web.post("/mock/reset", self._reset),
                web.get("/mock/timing", _answers(self.timing.as_dict)),
                web.get("/v1/models", _answers(lambda: {"object": "list", "data": [model]})),
                web.get("/version", _answers(lambda: {"version": "mock"})),
                web.get("/health", _answers(dict)),
                web.get("/metrics", self._metrics),
            ]
        )
        app.cleanup_ctx.append(self._watch_loop)
        return app

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._respond(request, chat=True)

    async def _completion(self, request: web.Request) -> web.StreamResponse:
        return await self._respond(request, chat=False)

    async def _respond(self, request: web.Request, chat: bool) -> web.StreamResponse:
        """One request, from its arrival to the end of its answer."""
        read_s, number = time.perf_counter(), self._numbers
        self._numbers += 1
        try:
            ask = read_body(await _json(request), chat, self.settings.model)
        except BadRequest as error:
            return _refusal(error.status, str(error))
        fault = self._schedule.fault(number)
        self.timing.failed += fault is not None
        if fault in (Fault.HTTP_503, Fault.HTTP_429):
            return _refusal(int(fault), "the mock was told to refuse")
        encoder = Encoder(ask, self._answer(ask, number), self.settings.model)
        with self.traffic.waits():
            async with self._slots:
                # Due times count from the arrival; of a request that had to wait for a slot, from there.
                start_s = time.perf_counter() if self.settings.max_running else read_s
                due_s = [start_s + due for due in self._schedule.due_times_s(number, encoder.num_tokens)]
                with self.traffic.runs(len(ask.prompt_ids)):
                    exchange = Exchange(request, encoder, due_s, read_s, fault, self.timing, self.traffic)
                    return await (exchange.stream() if ask.stream else exchange.whole())

    def _answer(self, ask: Ask, number: int) -> Answer:
        token_ids = answer(ask.prompt_ids, ask.max_tokens or self.settings.output_len)
        prefix, finish_reason = "chatcmpl" if ask.chat else "cmpl", "length" if ask.max_tokens else "stop"
        return Answer(f"{prefix}-{number}", int(time.time()), token_ids, self.settings.tokens_per_chunk, finish_reason)

    async def _tokenize(self, request: web.Request) -> web.Response:
        try:
            body = await _json(request)
            ids = prompt_ids(body.get("prompt") if isinstance(body, dict) else None)
        except BadRequest as error:
            return _refusal(error.status, str(error))
        return web.json_response({"count": len(ids), "max_model_len": None, "tokens": ids, "token_strs": None})

    async def _reset(self, request: web.Request) -> web.Response:
        """Forget what was measured, and number requests from 0: the same load then meets the same jitter and faults."""
        self.timing.reset()
        self._numbers = 0
        return web.json_response({})

    async def _metrics(self, request: web.Request) -> web.Response:
        return web.Response(body=self.traffic.exposition(), headers={"Content-Type": "text/plain; version=0.0.4"})

    async def _watch_loop(self, app: web.Application) -> AsyncIterator[None]:
        """While requests run, measure how late the event loop comes to its timers."""

        async def watch() -> None:
            while True:
                due = time.perf_counter() + LAG_INTERVAL_S
                await asyncio.sleep(LAG_INTERVAL_S)
                if self.traffic.running:
                    self.timing.loop_lagged(time.perf_counter() - due)

        task = asyncio.create_task(watch())
        yield
        task.cancel()


async def _json(request: web.Request) -> Any:
    try:
        return json.loads(await request.read())
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from error


def _answers(make: Callable[[], Any]) -> Callable[[web.Request], Any]:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response(make())

    return handler


def _refusal(status: int, message: str) -> web.Response:
    headers = {"Retry-After": "1"} if status == 429 else {}
    return web.json_response(error_body(message, status), status=status, headers=headers)


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
    server = MockServer(settings)
    # A client that leaves ends its request, and nobody waits for hung requests when the server ends.
    runner = web.AppRunner(server.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port, backlog=BACKLOG).start()
        except OSError as error:
            message = f"port {port} of {host}: {error.strerror or error}; choose another with --port"
            raise InfrastructureFailed(message) from error
        gc.freeze()
        yield server, f"http://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
