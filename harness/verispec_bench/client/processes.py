"""The load in several client processes: dealt out in turn, one common start, records passed up as they end."""

import asyncio
import pickle
import socket
import struct
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from verispec_bench.client.loop import OnDone
from verispec_bench.client.record import RequestRecord
from verispec_bench.client.request import Call
from verispec_bench.client.watch import ClientLoad
from verispec_bench.errors import InfrastructureFailed

_START_IN_S = 0.1
"""So long before the start is it told to the clients, so that none hears of it too late."""
_GOODBYE_S = 10.0
"""So long has an interrupted client to hand over what it has."""
LENGTH = struct.Struct(">Q")
"""Messages between parent and client are pickles, each after its length."""


@dataclass(frozen=True)
class Job:
    """A client's share of the load."""

    base_url: str
    calls: list[Call]
    concurrency: int | None
    timeout_s: float


@dataclass(frozen=True)
class Ready:
    """From a client: everything is loaded."""


@dataclass
class News:
    """From a client: the requests that have ended since it last said something, and how many are in flight now."""

    done: list[tuple[int, RequestRecord]]
    in_flight: int


def packed(message: object) -> bytes:
    """A message as it goes through a pipe."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


async def unpacked(pipe: asyncio.StreamReader) -> object:
    """The next message.

    Raises:
        IncompleteReadError: the pipe has ended.

    """
    (length,) = LENGTH.unpack(await pipe.readexactly(LENGTH.size))
    message: object = pickle.loads(await pipe.readexactly(length))
    return message


async def run_in_processes(
    count: int,
    base_url: str,
    calls: Sequence[Call],
    concurrency: int | None,
    timeout_s: float,
    *,
    on_done: OnDone,
    on_in_flight: Callable[[int], None],
) -> tuple[ClientLoad, bool]:
    """Send all calls from `count` processes; call i goes to process i modulo `count`, slots likewise.

    Returns:
        How busy the clients were, and whether the run was interrupted: then what was sent has been handed over.

    Raises:
        InfrastructureFailed: a process died; the others are ended.

    """
    in_flight = [0] * count

    def told(number: int, news: News) -> None:
        for index, record in news.done:
            on_done(number + count * index, record)
        in_flight[number] = news.in_flight
        on_in_flight(sum(in_flight))

    clients = [_Client(number) for number in range(count)]
    runs: list[asyncio.Task[ClientLoad]] = []
    try:
        async with asyncio.TaskGroup() as starts:
            for client in clients:
                slots = None if concurrency is None else len(range(client.number, concurrency, count))
                starts.create_task(client.start(Job(base_url, list(calls[client.number :: count]), slots, timeout_s)))
        start = time.perf_counter() + _START_IN_S
        runs += [asyncio.create_task(client.run(start, told)) for client in clients]
        interrupted = False
        try:
            await asyncio.wait(runs, return_when=asyncio.FIRST_EXCEPTION)
        except asyncio.CancelledError:
            interrupted = True
            for client in clients:
                client.interrupt()
            await asyncio.wait(runs, timeout=_GOODBYE_S)
        return ClientLoad.worst([run.result() for run in runs if run.done()], count), interrupted
    except* InfrastructureFailed as failures:
        raise failures.exceptions[0] from None
    except* OSError as failures:
        raise InfrastructureFailed(f"a client process cannot be started: {failures.exceptions[0]}") from None
    finally:
        for run in runs:
            run.cancel()
        await asyncio.gather(*runs, *(client.end() for client in clients), return_exceptions=True)


class _Client:
    """A client process, as its parent sees it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self._process: asyncio.subprocess.Process | None = None

    async def start(self, job: Job) -> None:
        """Start it, and wait until it is ready.

        Raises:
            InfrastructureFailed: it died.

        """
        ours, theirs = socket.socketpair()
        with theirs:
            self._reader, self._writer = await asyncio.open_connection(sock=ours)
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "verispec_bench.client.worker", str(theirs.fileno())),
                pass_fds=[theirs.fileno()],
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
        self._writer.write(packed(job))
        if not isinstance(await self._next(), Ready):
            raise InfrastructureFailed(f"client process {self.number} says something else than that it is ready")

    async def run(self, start: float, on_news: Callable[[int, News], None]) -> ClientLoad:
        """Let it begin at `start` and listen to its end.

        Raises:
            InfrastructureFailed: it died.

        """
        self._writer.write(packed(start))
        while True:
            message = await self._next()
            if isinstance(message, ClientLoad):
                return message
            if isinstance(message, News):
                on_news(self.number, message)

    def interrupt(self) -> None:
        """It is to hand over what it has, and end."""
        self._writer.write_eof()

    async def end(self) -> None:
        """Kill it if it still runs, and wait until it is gone."""
        if self._process is None:
            return
        self._writer.close()
        if self._process.returncode is None:
            self._process.kill()
        await self._process.communicate()

    async def _next(self) -> object:
        try:
            return await unpacked(self._reader)
        except (asyncio.IncompleteReadError, OSError):
            assert self._process is not None
            _, said = await self._process.communicate()
            words = said.decode("utf-8", "replace").strip().splitlines()
            last = f": {words[-1]}" if words else ""
            code = self._process.returncode
            raise InfrastructureFailed(f"client process {self.number} died (exit code {code}){last}") from None
