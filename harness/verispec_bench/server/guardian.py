"""Runs a server as the leader of its own process group and ends the whole group when it must.

`python guardian.py LOG COMMAND…`, in a session of its own, with a pipe from the harness as standard input. Prints the
server's process id. When the pipe closes, because the harness asked for it or because it died, kill -9 included, the
group gets SIGTERM and after a grace SIGKILL. Standard library only: it must outlive whatever breaks.
"""

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import time

GRACE_S = 20.0
POLL_S = 0.2
PR_SET_CHILD_SUBREAPER = 36


def main(log: str, *command: str) -> int:
    """Start the command, wait for its end or the pipe's, clean up its group; its exit code (127: it cannot run)."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    _adopt_orphans()
    with open(log, "ab") as output:
        try:
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_default_signals,
            )
        except OSError:
            return 127
    try:
        print(child.pid, flush=True)
        while child.poll() is None:
            readable, _, _ = select.select([0], [], [], POLL_S)
            if readable and not os.read(0, 1024):
                break
    finally:
        _end_group(child)
    return child.wait()


def _adopt_orphans() -> None:
    """Become the parent of grandchildren whose parent dies, so that they can be reaped here (Linux; else a no-op)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _default_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _end_group(child: "subprocess.Popen[bytes]") -> None:
    for number, patience in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if child.poll() is not None:
                with contextlib.suppress(ChildProcessError):
                    while os.waitpid(-child.pid, os.WNOHANG)[0]:
                        pass
            if not _group_lives(child.pid):
                return
            time.sleep(POLL_S)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
