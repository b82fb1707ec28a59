"""HTTP/1.1 on real sockets: every way a body may be framed and cut, which connections are used again, and faults."""

import asyncio
import errno
import socket
from contextlib import asynccontextmanager

import pytest

from verispec_bench.client import http
from verispec_bench.client.http import CannotConnect, Connections, NotHttp
from verispec_bench.client.request import Call
from verispec_bench.client.wire import exchange

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7;ext=1\r\n, world\r\n0\r\nTrailer: x\r\n\r\n"
SIZED = OK + b"Content-Length: 12\r\n\r\nhello, world"
UNTIL_CLOSE = OK + b"\r\nhello, world"
CLOSING = OK + b"Connection: close\r\nContent-Length: 12\r\n\r\nhello, world"
OLD = b"HTTP/1.0 200 OK\r\nContent-Length: 12\r\n\r\nhello, world"
CONTINUED = b"HTTP/1.1 100 Continue\r\n\r\n" + SIZED


class Server:
    """Answers each request with the next script: pieces, written one after the other; None closes."""

    def __init__(self, *scripts):
        self.scripts = list(scripts)
        self.heads, self.bodies, self.connections = [], [], 0

    async def serve(self, reader, writer):
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                length = next(x for x in head.split(b"\r\n") if x.lower().startswith(b"content-length"))
                self.bodies.append(await reader.readexactly(int(length.split(b":")[1])))
                for piece in self.scripts.pop(0):
                    if piece is None:
                        writer.close()
                        return
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0.002)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    @asynccontextmanager
    async def running(self, host="127.0.0.1"):
        server = await asyncio.start_server(self.serve, host, 0)
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()


async def posts(server, count=1, path=""):
    """What came of posts one after the other: (response, body)."""
    answers = []
    async with server.running() as port, Connections(f"http://127.0.0.1:{port}{path}") as connections:
        for _ in range(count):
            pieces = []
            response = await connections.post("/x", b"{}", lambda piece, at, pieces=pieces: pieces.append((at, piece)))
            times = [at for at, _ in pieces]
            assert times == sorted(times)
            answers.append((response, b"".join(piece for _, piece in pieces)))
    return answers


@pytest.mark.parametrize("answer", [CHUNKED, SIZED, UNTIL_CLOSE, CLOSING, OLD, CONTINUED])
async def test_a_body_is_whole_however_it_is_framed_and_cut(answer):
    cuts = range(1, len(answer), 7)
    end = [None] if answer is UNTIL_CLOSE else []
    server = Server(*([answer[:cut], answer[cut:], *end] for cut in cuts))
    for response, body in await posts(server, len(cuts)):
        assert (response.status, body) == (200, b"hello, world")


async def test_what_is_sent():
    server = Server([SIZED])
    await posts(server, path="/prefix")
    (head,) = server.heads
    assert head.startswith(b"POST /prefix/x HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nContent-Type: application/json\r\n" in head
    assert b"\r\nAccept-Encoding: identity\r\n" in head
    assert server.bodies == [b"{}"]


async def test_a_connection_is_used_again_after_a_whole_answer():
    server = Server([SIZED], [CHUNKED], [SIZED])
    await posts(server, 3)
    assert server.connections == 1


@pytest.mark.parametrize("first", [[CLOSING], [OLD], [UNTIL_CLOSE, None]])
async def test_a_connection_that_ends_is_not_used_again(first):
    server = Server(first, [SIZED])
    assert [body for _, body in await posts(server, 2)] == [b"hello, world"] * 2
    assert server.connections == 2


async def test_a_connection_that_was_idle_for_long_is_not_used_again(monkeypatch):
    monkeypatch.setattr(http, "_IDLE_S", 0.0)
    server = Server([SIZED], [SIZED])
    await posts(server, 2)
    assert server.connections == 2


async def test_a_connection_that_the_server_closed_while_idle_is_not_used_again():
    server = Server([SIZED, None], [SIZED])
    async with server.running() as port, Connections(f"http://127.0.0.1:{port}") as connections:
        for _ in range(2):
            assert (await connections.post("/x", b"{}", lambda piece, at: None)).status == 200
            await asyncio.sleep(0.1)
    assert server.connections == 2


async def test_posts_at_once_have_a_connection_each():
    server = Server(*([SIZED] for _ in range(50)))
    async with server.running() as port, Connections(f"http://127.0.0.1:{port}") as connections:
        await asyncio.gather(*(connections.post("/x", b"{}", lambda piece, at: None) for _ in range(50)))
    assert server.connections == 50


async def test_a_name_is_looked_up_once_and_tried_at_each_of_its_addresses(monkeypatch):
    asked = []

    async def two(self, host, port, **options):
        if host == "somewhere":
            asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{last}", port)) for last in (2, 1)]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", two)
    server = Server([SIZED], [SIZED])
    async with server.running() as port, Connections(f"http://somewhere:{port}") as connections:
        posts = (connections.post("/x", b"{}", lambda piece, at: None) for _ in range(2))
        assert [response.status for response in await asyncio.gather(*posts)] == [200, 200]
    assert asked == ["somewhere"]


async def test_refusals_are_kept_whole_with_their_headers():
    refusal = b"HTTP/1.1 429 x\r\nRETRY-AFTER: 7\r\nContent-Length: 4\r\n\r\nslow"
    ((response, body),) = await posts(Server([refusal[:-2], refusal[-2:]]))
    assert (response.status, response.refusal, response.headers[b"retry-after"], body) == (429, b"slow", b"7", b"")


@pytest.mark.parametrize(
    "answer",
    [
        [None],
        [OK, None],
        [CHUNKED[:-5], None],
        [CHUNKED[:60], None],
        [SIZED[:-1], None],
    ],
)
async def test_an_answer_that_is_cut_off_is_a_fault(answer):
    with pytest.raises(ConnectionError):
        await posts(Server(answer))


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH\r\n", CHUNKED.replace(b"5\r\nhello", b"x\r\nhello")])
async def test_what_is_not_http_is_a_fault(answer):
    with pytest.raises(NotHttp):
        await posts(Server([answer, None]))


async def test_what_the_receiver_raises_is_raised_to_the_sender():
    def broken(piece, at):
        raise ValueError("broken")

    async with Server([CHUNKED]).running() as port, Connections(f"http://127.0.0.1:{port}") as connections:
        with pytest.raises(ValueError, match="broken"):
            await connections.post("/x", b"{}", broken)


async def test_a_plain_server_behind_https_cannot_be_connected_to():
    async def refuse(reader, writer):
        writer.write(b"HTTP/1.1 400 not TLS\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with Connections(f"https://127.0.0.1:{port}") as connections:
            with pytest.raises(CannotConnect):
                await connections.post("/x", b"{}", lambda piece, at: None)


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "no"), "refused"),
        (OSError(errno.EMFILE, "too many open files"), "client"),
        (OSError(errno.EADDRNOTAVAIL, "no port left"), "client"),
        (OSError(errno.EHOSTUNREACH, "no route"), "unreachable"),
        (socket.gaierror(-2, "no such name"), "unreachable"),
    ],
)
async def test_faults_of_connecting_have_their_kind(monkeypatch, cause, kind):
    async def fails(self, *args, **options):
        raise cause

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", fails)
    async with Connections("http://127.0.0.1:9") as connections:
        call = Call("p", "/x", b"{}", None, 5, None, stream=True)
        assert (await exchange(connections, call, 5.0, lambda piece, at: None)).startswith(f"{kind}: ")


async def test_connections_that_were_opened_ahead_are_those_that_posts_use():
    server = Server(*[[SIZED]] * 3)
    async with server.running() as port, Connections(f"http://127.0.0.1:{port}") as connections:
        await connections.open(3)
        await asyncio.gather(*(connections.post("/x", b"{}", lambda piece, at: None) for _ in range(3)))
    assert server.connections == 3
    assert len(server.heads) == 3


async def test_what_cannot_be_opened_ahead_is_for_the_post_to_say():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        async with Connections(f"http://127.0.0.1:{unused.getsockname()[1]}") as connections:
            await connections.open(3)
            with pytest.raises(CannotConnect):
                await connections.post("/x", b"{}", lambda piece, at: None)
