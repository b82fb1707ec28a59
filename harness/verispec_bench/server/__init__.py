"""Servers as child processes: command line, launch, readiness, settings read-back, parity, shutdown."""

from verispec_bench.server.command import ServerCommand, server_command
from verispec_bench.server.interpreter import Interpreter, probe_interpreter
from verispec_bench.server.parity import changed_since, differences
from verispec_bench.server.process import ServerProcess, free_port
from verispec_bench.server.readback import Readback, read_back
from verispec_bench.server.readiness import is_gone, wait_until_ready

__all__ = [
    "Interpreter",
    "Readback",
    "ServerCommand",
    "ServerProcess",
    "changed_since",
    "differences",
    "free_port",
    "is_gone",
    "probe_interpreter",
    "read_back",
    "server_command",
    "wait_until_ready",
]
