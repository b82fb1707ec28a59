"""Runs a server as the leader of its own process group and ends the whole group when it must.

`python guardian.py LOG COMMAND…`, in a session of its own, with a pipe from the harness as standard input. Prints the
server's process id. When the pipe closes, because the harness asked for it or because it died, kill -9 included, the
group gets SIGTERM and after a grace SIGKILL. Standard library only: it must outlive whatever breaks.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

GRACE_S = 20.0
POLL_S = 0.2


def main(log: str, *command: str) -> int:
    """Start the command, wait for its end or the pipe's, clean up its group; its exit code (127: it cannot run)."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
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
    print(child.pid, flush=True)
    while child.poll() is None:
        readable, _, _ = select.select([0], [], [], POLL_S)
        if readable and not os.read(0, 1024):
            break
    _end_group(child)
    return child.wait()


def _default_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _end_group(child: "subprocess.Popen[bytes]") -> None:
    for number, patience in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            child.poll()
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
