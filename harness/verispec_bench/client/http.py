"""HTTP/1.1 for a load generator: the time of each piece is taken as the socket hands it over, and little else is done.

The messages are parsed by llhttp (httptools). A general client would do, but spends 0.5 ms on a request and 20 µs on a
piece, and with hundreds of streams that time shows in the latencies of the others.
"""

import asyncio
import contextlib
import socket
import ssl
import time
from collections.abc import Callable
from types import TracebackType
from typing import cast
from urllib.parse import urlsplit

from httptools import HttpParserCallbackError, HttpParserError, HttpResponseParser

_IDLE_S = 4.0
"""Connections that were idle for longer are not used again: uvicorn closes its own after 5 s, maybe as we send."""

OnBytes = Callable[[bytes, float], None]


class NotHttp(Exception):
    """The server answers something else than HTTP/1.1."""


class Response:
    """Head of a response, and the body of one whose status is not 200.

    Attributes:
        status: of the response.
        headers: names in lower case.
        refusal: the body, unless the status is 200.

    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[bytes, bytes] = {}
        self.refusal = b""


class Connections:
    """Connections to one server, as many as there are posts at once; a post never waits for another.

    An async context manager; names are looked up once, on entering.

    Args:
        base_url: http or https, host, and a path before those of the posts.

    """

    def __init__(self, base_url: str) -> None:
        url = urlsplit(base_url)
        self._host, self._port = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
        self._ssl = ssl.create_default_context() if url.scheme == "https" else None
        self._head = (
            f"POST {url.path}%s HTTP/1.1\r\nHost: {url.netloc.rpartition('@')[2]}\r\nUser-Agent: verispec\r\n"
            "Content-Type: application/json\r\nAccept: */*\r\nAccept-Encoding: identity\r\nContent-Length: %d\r\n\r\n"
        )
        self._idle: list[_Connection] = []
        self._all: set[_Connection] = set()
        self._addresses: list[str] = []
        self._unknown: OSError | None = None

    async def __aenter__(self) -> "Connections":
        try:
            found = await asyncio.get_running_loop().getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
            self._addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
        except OSError as error:
            self._unknown = error
        return self

    async def open(self, count: int) -> None:
        """Connect ahead of the posts; what cannot connect is for the post that needs it to say."""

        async def one() -> None:
            with contextlib.suppress(CannotConnect):
                connection = await self._connect()
                connection.idle_since = time.perf_counter()
                self._idle.append(connection)

        await asyncio.gather(*(one() for _ in range(count)))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for connection in self._all:
            connection.abort()

    async def post(self, path: str, body: bytes, on_bytes: OnBytes) -> Response:
        """Send once and wait for the end of the response.

        Args:
            path: after the base URL's own.
            body: JSON.
            on_bytes: called with each piece of a body with status 200, and time.perf_counter() at its arrival.

        Raises:
            CannotConnect: no connection; the cause is its OSError.
            ConnectionError: it ended before the response did.
            NotHttp: what came is not HTTP.

        """
        connection = self._take_idle() or await self._connect()
        try:
            response = await connection.post((self._head % (path, len(body))).encode() + body, on_bytes)
        except BaseException:
            connection.abort()
            raise
        finally:
            self._all.discard(connection)
        if connection.is_reusable:
            self._all.add(connection)
            self._idle.append(connection)
        else:
            connection.abort()
        return response

    def _take_idle(self) -> "_Connection | None":
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open and time.perf_counter() - connection.idle_since < _IDLE_S:
                return connection
            connection.abort()
            self._all.discard(connection)
        return None

    async def _connect(self) -> "_Connection":
        loop = asyncio.get_running_loop()
        try:
            if self._unknown is not None:
                raise self._unknown
            for address in list(self._addresses):
                name = self._host if self._ssl else None
                try:
                    _, connection = await loop.create_connection(
                        _Connection, address, self._port, ssl=self._ssl, server_hostname=name
                    )
                except OSError:
                    if address == self._addresses[-1]:
                        raise
                else:
                    self._addresses.sort(key=lambda other: other != address)
                    self._all.add(connection)
                    return connection
        except OSError as error:
            raise CannotConnect(str(error)) from error
        raise AssertionError("no address was tried")


class CannotConnect(Exception):
    """There is no connection; the cause says why."""


class _Connection(asyncio.Protocol):
    """One connection, one exchange at a time; also the callbacks of its parser."""

    def __init__(self) -> None:
        self.is_open = False
        self.is_reusable = False
        self.idle_since = 0.0
        self._ended: asyncio.Future[Response] | None = None

    def post(self, message: bytes, on_bytes: OnBytes) -> "asyncio.Future[Response]":
        """Send; the future is done when the response has ended."""
        self._ended = asyncio.get_running_loop().create_future()
        self._response, self._on_bytes = Response(), on_bytes
        self._parser = HttpResponseParser(self)
        self._arrived = 0.0
        self.is_reusable = False
        if self.is_open:
            self._transport.write(message)
        else:
            self._fail(ConnectionResetError("the connection was closed"))
        return self._ended

    def abort(self) -> None:
        """Close it without waiting for anything."""
        self.is_open = False
        self._transport.abort()

    # asyncio calls:

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are of no asyncio class
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        self._arrived = time.perf_counter()
        if self._ended is None or self._ended.done():
            self.abort()  # it says something that nobody asked for
            return
        try:
            self._parser.feed_data(data)
        except HttpParserCallbackError as error:  # what on_bytes raised
            self._fail(error.__context__ or error)
        except HttpParserError as error:
            self._fail(NotHttp(f"{error}: {data[:80]!r}"))

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = self.is_reusable = False
        if self._ended is not None and not self._ended.done():
            head = self._response
            unframed = head.status and not {b"content-length", b"transfer-encoding"} & head.headers.keys()
            if unframed and exc is None:
                self._ended.set_result(head)  # a body that ends with its connection
            else:
                self._fail(exc or ConnectionResetError("the connection was closed before the answer had ended"))

    # httptools calls:

    def on_header(self, name: bytes, value: bytes) -> None:
        self._response.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self._response.status = self._parser.get_status_code()

    def on_body(self, body: bytes) -> None:
        if self._response.status == 200:
            self._on_bytes(body, self._arrived)
        else:
            self._response.refusal += body

    def on_message_complete(self) -> None:
        if self._response.status < 200:  # 100 Continue and its kind announce the real one
            self._response = Response()
        elif self._ended is not None and not self._ended.done():
            self.is_reusable, self.idle_since = self._parser.should_keep_alive(), self._arrived
            self._ended.set_result(self._response)

    def _fail(self, error: BaseException) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_exception(error)
