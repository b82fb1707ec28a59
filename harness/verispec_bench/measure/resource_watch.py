"""Looks at what a server's processes use of the machine while a run goes on, and at who else uses it."""

import asyncio
import contextlib
import os
from collections.abc import Sequence
from types import TracebackType

import psutil

from verispec_bench.measure.clock import ClockWatch
from verispec_bench.measure.cpu import CpuWatch
from verispec_bench.measure.gpu import Gpus
from verispec_bench.measure.window import ResourceWindow

INTERVAL_S = 1.0


class ResourceWatch:
    """Samples memory, and takes processor time and energy, for the length of an `async with`.

    The server's processes are those that it has when the watch begins. For a server elsewhere only the clocks are
    watched.

    Args:
        pid: main process of the server; None: it is not on this machine.
        others: main processes of servers that are up beside it, whose work is not foreign.

    """

    def __init__(self, pid: int | None, others: Sequence[int] = ()) -> None:
        self._pid, self._others = pid, others
        self._family: list[psutil.Process] = []
        self._window = ResourceWindow()
        self._rss: list[int] = []
        self._gpu_memory: list[int] = []
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "ResourceWatch":
        self._clock = ClockWatch()
        if self._pid is not None:
            with contextlib.suppress(psutil.Error):
                main = psutil.Process(self._pid)
                self._family = [main, *main.children(recursive=True)]
            self._gpus = Gpus([process.pid for process in self._family])
            self._cpu = CpuWatch([self._pid, *self._others])
            self._cpu_s, self._energy_j = self._processor_seconds(), self._gpus.energy_j()
            self._task = asyncio.create_task(self._watch())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not self._task:
            self._window = ResourceWindow(clock_jump_s=self._clock.jump_s())
            return
        cpu_s, energy_j = self._processor_seconds(), self._gpus.energy_j()
        foreign, jump = self._cpu.foreign_share(), self._clock.jump_s()
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._look()
        self._window = ResourceWindow(
            cpu_s=None if cpu_s is None or self._cpu_s is None else cpu_s - self._cpu_s,
            processors=len(os.sched_getaffinity(0)),
            rss_bytes=max(self._rss, default=None),
            gpus=self._gpus.count,
            gpu_bytes=max(self._gpu_memory, default=None),
            gpu_energy_j=None if energy_j is None or self._energy_j is None else energy_j - self._energy_j,
            foreign_cpu=foreign,
            clock_jump_s=jump,
        )

    def window(self) -> ResourceWindow:
        """What was seen; to be asked for after the `async with`."""
        return self._window

    async def _watch(self) -> None:
        while True:
            await asyncio.to_thread(self._look)  # not on the loop that takes the answers' times
            await asyncio.sleep(INTERVAL_S)

    def _look(self) -> None:
        with contextlib.suppress(psutil.Error):
            if self._family:
                self._rss.append(sum(process.memory_info().rss for process in self._family))
        if (memory := self._gpus.memory_bytes()) is not None:
            self._gpu_memory.append(memory)

    def _processor_seconds(self) -> float | None:
        try:
            times = [process.cpu_times() for process in self._family]
        except psutil.Error:
            return None
        return sum(used.user + used.system for used in times) if times else None
