"""HTTP/1.1 for a clock: what comes in is stamped as it is read, what goes out is written at once.

A thousand requests in one burst must not wait for each other, or their waiting would pass for the client's error. Read
with llhttp and answered on the transport a request costs a quarter of what aiohttp.web takes for it, and is stamped
before any other is answered.
"""

import asyncio
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

LARGEST_BODY = 64 << 20
EVENT_STREAM = "text/event-stream; charset=utf-8"
_END = b"0\r\n\r\n"


@dataclass(frozen=True)
class Request:
    """One request.

    Attributes:
        route: method and path, as "GET /health".
        body: all of it.
        read_s: when its last byte was read, on time.perf_counter().
        reply: where the answer goes.
        keep_alive: whether the connection outlives it.

    """

    route: str
    body: bytes
    read_s: float
    reply: "Reply"
    keep_alive: bool


class Reply:
    """Writes the answer to one request."""

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection

    def whole(self, body: bytes, status: int = 200, kind: str = "application/json", headers: str = "") -> None:
        """A whole answer; headers: further ones, each with its line's end."""
        self.head(f"Content-Length: {len(body)}\r\n{headers}", kind, status)
        self._connection.transport.write(body)

    def json(self, value: Any, status: int = 200, headers: str = "") -> None:
        """A whole answer in JSON."""
        self.whole(json.dumps(value).encode(), status, headers=headers)

    def head(self, framing: str, kind: str, status: int = 200) -> None:
        """Status and headers."""
        line = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: {kind}\r\n{framing}\r\n"
        self._connection.transport.write(line.encode())

    def begin_stream(self) -> None:
        """The head of an answer whose length is not known."""
        self.head("Transfer-Encoding: chunked\r\n", EVENT_STREAM)

    async def chunk(self, data: bytes, last: bool = False) -> None:
        """A piece of a stream; waits only for a client that does not read."""
        self._connection.transport.write(b"%x\r\n%b\r\n%b" % (len(data), data, _END if last else b""))
        await self._connection.drained()

    def end_stream(self) -> None:
        """The stream ends, though nothing said that the last piece was the last."""
        self._connection.transport.write(_END)

    def half(self, body: bytes) -> None:
        """The head of a whole answer, and half of its body."""
        self.head(f"Content-Length: {len(body)}\r\n", "application/json")
        self._connection.transport.write(body[: len(body) // 2])

    def close(self) -> None:
        """End the connection after what was written."""
        self._connection.transport.close()

    def abort(self) -> None:
        """Reset the connection now."""
        self._connection.transport.abort()


class Connection(asyncio.Protocol):
    """One client's connection. Its requests are answered in their order; if it is lost, its answer is cancelled."""

    transport: asyncio.Transport

    def __init__(self, answer: Callable[[Request], Awaitable[None]], connections: "set[Connection]") -> None:
        self._answer = answer
        self._connections = connections
        self._parser = HttpRequestParser(self)
        self._route, self._body, self._read_s = b"", bytearray(), 0.0
        self._waiting: deque[Request] = deque()
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client has connected."""
        self.transport = cast(asyncio.Transport, transport)  # uvloop's are no subclass
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Bytes of a request."""
        self._read_s = time.perf_counter()
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._refuse(400, "no HTTP/1.1 request: an upgrade of the protocol is asked for")
        except HttpParserError as error:
            self._refuse(400, f"no HTTP/1.1 request: {error}")

    def on_url(self, url: bytes) -> None:
        """For the parser."""
        self._route += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """For the parser."""
        if name.lower() == b"expect" and value.lower() == b"100-continue":
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """For the parser."""
        self._body += body
        if len(self._body) > LARGEST_BODY:
            self._refuse(413, f"a body may have {LARGEST_BODY} bytes")

    def on_message_complete(self) -> None:
        """For the parser: answer it, after those before it."""
        route = f"{self._parser.get_method().decode()} {self._route.decode('latin-1').partition('?')[0]}"
        keep_alive = self._parser.should_keep_alive()
        self._waiting.append(Request(route, bytes(self._body), self._read_s, Reply(self), keep_alive))
        self._route, self._body = b"", bytearray()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._answer_all())

    async def _answer_all(self) -> None:
        while self._waiting:
            request = self._waiting.popleft()
            try:
                await self._answer(request)
            except Exception:  # the mock's own mistake: the client must not wait for ever, and it is reported
                self.transport.abort()
                raise
            if not request.keep_alive:
                self.transport.close()
        self._task = None

    def _refuse(self, status: int, message: str) -> None:
        reply = Reply(self)
        reply.json({"error": {"message": message, "code": status}}, status, "Connection: close\r\n")
        reply.close()

    def pause_writing(self) -> None:
        """The client does not read."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It reads again."""
        self._writable.set()

    async def drained(self) -> None:
        """Wait while the client does not read."""
        if not self._writable.is_set():
            await self._writable.wait()

    def connection_lost(self, error: Exception | None) -> None:
        """The client has left, or the connection was ended."""
        self._connections.discard(self)
        if self._task is not None:
            self._task.cancel()
