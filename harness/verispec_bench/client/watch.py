"""How busy the client itself was: a client that is late measures itself."""

import asyncio
import math
import time
from dataclasses import dataclass
from types import TracebackType

_TICK_S = 0.02
MOST_BUSY, MOST_LAG_S = 0.8, 0.02
"""Above these the client's own time shows in what it measures."""


@dataclass(frozen=True)
class ClientLoad:
    """What the load took of its clients; of several processes the worst.

    Attributes:
        busy_share: processor time of the client's process / wall time of the run; 1 is one whole processor. None if
            an interrupted process did not say.
        loop_lag_p99_s: how late timers of its event loop ran; None also for a run too short for any.
        processes: how many there were.

    """

    busy_share: float | None
    loop_lag_p99_s: float | None
    processes: int = 1

    @property
    def bottleneck(self) -> str | None:
        """Why the measured latencies may be the client's own; None: they are not."""
        if self.busy_share is not None and self.busy_share > MOST_BUSY:
            return f"it used {self.busy_share:.0%} of a processor"
        if self.loop_lag_p99_s is not None and self.loop_lag_p99_s > MOST_LAG_S:
            return f"its event loop was up to {1000 * self.loop_lag_p99_s:.0f} ms late"
        return None

    @classmethod
    def worst(cls, loads: "list[ClientLoad]", processes: int) -> "ClientLoad":
        """Of several processes, as far as they said."""
        shares = [load.busy_share for load in loads if load.busy_share is not None]
        lags = [load.loop_lag_p99_s for load in loads if load.loop_lag_p99_s is not None]
        return cls(max(shares, default=None), max(lags, default=None), processes)


class ClientWatch:
    """Watches this process for the length of an `async with`."""

    def __init__(self) -> None:
        self._lags: list[float] = []

    async def __aenter__(self) -> "ClientWatch":
        self._wall, self._busy = time.perf_counter(), time.process_time()
        self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._task.cancel()
        self._wall, self._busy = time.perf_counter() - self._wall, time.process_time() - self._busy

    async def _tick(self) -> None:
        while True:
            due = time.perf_counter() + _TICK_S
            await asyncio.sleep(_TICK_S)
            self._lags.append(max(0.0, time.perf_counter() - due))

    def load(self) -> ClientLoad:
        """What was seen, once the `async with` has ended."""
        lags = sorted(self._lags)
        p99 = lags[math.ceil(0.99 * len(lags)) - 1] if lags else None
        return ClientLoad(self._busy / self._wall, p99)
