"""A server as a child process, held by a guardian that leaves no orphan."""

import contextlib
import os
import random
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType

import psutil

from verispec_bench.errors import InfrastructureFailed
from verispec_bench.server.command import ServerCommand

_GUARDIAN = Path(__file__).with_name("guardian.py")


CANDIDATES = range(20_000, 32_000)
"""Below the range from which systems take ports for outgoing connections: a server binds long after it was chosen."""


def free_port(wanted: int | None = None) -> int:
    """A port of the loopback interface that nothing listens on: the wanted one, or any.

    Raises:
        InfrastructureFailed: the wanted port is busy, or none is free.

    """
    if wanted is not None:
        if not _is_free(wanted):
            raise InfrastructureFailed(f"port {wanted} is busy; choose another with --port, or leave it out")
        return wanted
    port = next((port for port in random.sample(CANDIDATES, 200) if _is_free(port)), None)
    if port is None:
        raise InfrastructureFailed("no free port was found on 127.0.0.1; choose one with --port")
    return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


class ServerProcess:
    """Starts when entered, ends (with its whole process group) when left.

    Args:
        name: the arm, for messages.
        command: what to run.
        port: where it will listen.
        log: file that its output is appended to.

    """

    def __init__(self, name: str, command: ServerCommand, port: int, log: Path) -> None:
        self.name = name
        self.command = command
        self.base_url = f"http://127.0.0.1:{port}"
        self.log = log
        self._guardian: subprocess.Popen[str] | None = None
        self.pid = 0

    def __enter__(self) -> "ServerProcess":
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self.log.open("ab").close()  # where it cannot be written, this says so
        self._guardian = subprocess.Popen(
            [sys.executable, "-I", str(_GUARDIAN), str(self.log), *self.command.argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **self.command.env},
        )
        assert self._guardian.stdout is not None
        first = self._guardian.stdout.readline()
        if not first.strip():
            raise InfrastructureFailed(f"server {self.name}: {self.command.argv[0]} cannot be started")
        self.pid = int(first)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.begin_stop()
        if self._guardian is not None:
            self._guardian.wait()

    def begin_stop(self) -> None:
        """Ask the guardian to end the server; returns at once."""
        if self._guardian is not None and self._guardian.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._guardian.stdin.close()

    @property
    def died(self) -> bool:
        """The server's own process is gone (its guardian may still be ending the rest of the group)."""
        try:
            return self._guardian is None or psutil.Process(self.pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    def log_tail(self, lines: int = 12) -> str:
        """The last lines of its output that say something."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return "\n".join([line for line in text.splitlines() if line.strip()][-lines:])

    def last_words(self) -> str:
        """The most telling line of its output: the last error, else the last line."""
        lines = self.log_tail(400).splitlines()
        errors = [line for line in lines if "Error:" in line or "error:" in line]
        own = [line for line in errors if "verispec" in line or "seam" in line]
        return (own or errors or lines or ["no output"])[-1].strip()
