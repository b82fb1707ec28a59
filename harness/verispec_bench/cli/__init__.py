"""The command line: one file for each verb or pair of verbs, thin."""

import signal
import sys
from io import TextIOWrapper

from verispec_bench.cli import (
    adopt,
    bench,
    breakeven,
    calibrate,
    doctor,
    gate,
    lab,
    manifest,
    mock,
    replay,
    serve,
    sweep,
    verify,
)
from verispec_bench.cli.app import app, fault_of, say_fault
from verispec_bench.errors import InfrastructureFailed, VerispecError

__all__ = [
    "adopt",
    "app",
    "bench",
    "breakeven",
    "calibrate",
    "doctor",
    "gate",
    "lab",
    "main",
    "manifest",
    "mock",
    "replay",
    "serve",
    "sweep",
    "verify",
]


def main() -> None:
    """Run the command line; foreseeable faults end in one line and an exit code, never in a traceback."""
    # As Ctrl-C: an event loop then cancels what it does; an exception raised amid its callbacks may be lost in them.
    # Jobs that a shell script has put into the background are started with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, lambda number, frame: signal.raise_signal(signal.SIGINT))
    for stream in (sys.stdout, sys.stderr):  # γ and α where the terminal has no such letters
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except VerispecError as error:
        say_fault(str(error))
        sys.exit(error.exit_code)
    except OSError as error:  # a full disk, a directory that cannot be written
        say_fault(fault_of(error))
        sys.exit(InfrastructureFailed.exit_code)
