"""Who used the processors during a run? Work of other processes makes a comparison worthless, so it is noticed."""

import contextlib
import os
import time
from collections.abc import Iterable

import psutil


class CpuWatch:
    """Splits the time of the usable processors since its creation into ours and everybody else's.

    Args:
        pids: main processes of the servers; they and their descendants, and this process, are ours.

    """

    def __init__(self, pids: Iterable[int]) -> None:
        self._pids = [os.getpid(), *pids]
        self._started = time.monotonic()
        self._busy, self._stolen = _machine()
        self._own = self._own_times()

    def foreign_share(self) -> float:
        """Processor time of others, and time stolen by the host, as a share of all that there was."""
        busy, stolen = _machine()
        own = self._own_times()
        ours = sum(seconds - self._own.get(pid, 0.0) for pid, seconds in own.items())
        available = (time.monotonic() - self._started) * len(os.sched_getaffinity(0))
        foreign = (busy - self._busy) - ours + (stolen - self._stolen)
        return min(1.0, max(0.0, foreign / available)) if available else 0.0

    def _own_times(self) -> dict[int, float]:
        times: dict[int, float] = {}
        for pid in self._pids:
            with contextlib.suppress(psutil.Error):
                main = psutil.Process(pid)
                family = [main] if pid == os.getpid() else [main, *main.children(recursive=True)]
                for process in family:
                    with contextlib.suppress(psutil.Error):
                        used = process.cpu_times()
                        times[process.pid] = used.user + used.system
                        if pid == os.getpid():  # client processes, which have ended by the time they are asked for
                            times[pid] += used.children_user + used.children_system
        return times


def _machine() -> tuple[float, float]:
    """(seconds spent working, seconds stolen) since boot, over the processors that we and the servers may use."""
    usable = os.sched_getaffinity(0)
    processors = [times for index, times in enumerate(psutil.cpu_times(percpu=True)) if index in usable]
    stolen = sum(getattr(times, "steal", 0.0) for times in processors)
    # Guest time is part of user time already.
    idle = sum(times.idle + getattr(times, "iowait", 0.0) + getattr(times, "guest", 0.0) for times in processors)
    return sum(map(sum, processors)) - idle - stolen, stolen
