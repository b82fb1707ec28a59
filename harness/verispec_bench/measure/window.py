"""What was observed of a server and of the machine while runs went on. Plain data: kept on disk, pooled over runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class ServerSample(NamedTuple):
    """One look at a server's gauges; None: it has no such gauge.

    Attributes:
        at_s: seconds since the load began.
        in_flight: requests that the client had in flight.
        steady: the load was at its plateau.
        running, waiting: requests in the server's batch and in its queue, summed over engines.
        kv_cache_usage: the fullest engine's, a fraction.

    """

    at_s: float | None
    in_flight: int | None
    steady: bool
    running: float | None = None
    waiting: float | None = None
    kv_cache_usage: float | None = None


@dataclass(frozen=True)
class ServerWindow:
    """A server from before the load to after it.

    Attributes:
        gains: what each counter gained, by the names of `exposition.COUNTERS`; absent: the server has no such counter,
            or it was not seen both before and after. "fallbacks.REASON" is absent also where there was none.
        samples: its gauges in between.
        kv_blocks, kv_block_size: blocks that requests can have, all engines together, and tokens in a block.

    """

    gains: dict[str, float] = field(default_factory=dict)
    samples: tuple[ServerSample, ...] = ()
    kv_blocks: int | None = None
    kv_block_size: int | None = None

    @classmethod
    def pooled(cls, windows: Sequence["ServerWindow"]) -> "ServerWindow":
        """Gains added, samples joined; a counter that was not seen in one window is not known for them all."""
        names = {name for window in windows for name in window.gains}
        known = [name for name in sorted(names) if "." in name or all(name in window.gains for window in windows)]
        return cls(
            gains={name: sum(window.gains.get(name, 0.0) for window in windows) for name in known},
            samples=tuple(sample for window in windows for sample in window.samples),
            kv_blocks=_least([window.kv_blocks for window in windows]),
            kv_block_size=_least([window.kv_block_size for window in windows]),
        )


@dataclass(frozen=True)
class ResourceWindow:
    """What a server's processes used, and who else used the machine. None: not readable here.

    Attributes:
        cpu_s: processor seconds of the server's processes.
        processors: how many the server and the client may use.
        rss_bytes: the most resident memory that was seen, summed over the processes (shared pages in each).
        gpus: devices on which the server runs; 0: on the processors.
        gpu_bytes: the most device memory of the server's processes that was seen.
        gpu_energy_j: of these devices, whoever used them.
        foreign_cpu: share of the processors' time that went to others.
        clock_jump_s: wall clock − monotonic clock, over the run.

    """

    cpu_s: float | None = None
    processors: int | None = None
    rss_bytes: int | None = None
    gpus: int | None = None
    gpu_bytes: int | None = None
    gpu_energy_j: float | None = None
    foreign_cpu: float | None = None
    clock_jump_s: float | None = None

    @classmethod
    def pooled(cls, windows: Sequence["ResourceWindow"]) -> "ResourceWindow":
        """Seconds and joules added; of sizes, shares and jumps the largest; None where one is unknown."""
        columns = {name: [getattr(window, name) for window in windows] for name in _POOLED}
        return cls(**{name: _POOLED[name](column) for name, column in columns.items() if column and None not in column})


def _furthest(values: list[float]) -> float:
    return max(values, key=abs)


_POOLED: dict[str, Callable[[list[Any]], Any]] = {
    "cpu_s": sum,
    "processors": max,
    "rss_bytes": max,
    "gpus": max,
    "gpu_bytes": max,
    "gpu_energy_j": sum,
    "foreign_cpu": max,
    "clock_jump_s": _furthest,
}


def _least(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return min(known) if known and len(known) == len(values) else None
