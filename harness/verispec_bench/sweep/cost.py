"""What a sweep will cost, as far as it is known before: from arrivals, and from earlier sweeps of the same kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verispec_bench.errors import UnusableInput
from verispec_bench.record import ResultDirectory
from verispec_bench.scenario import BASELINE, TARGET_ONLY
from verispec_bench.sweep.plan import PlannedBlock, PlannedSearch


@dataclass(frozen=True)
class Cost:
    """Of all blocks that every cell gets.

    Attributes:
        requests: of all arms.
        most_tokens: if every answer is as long as allowed.
        seconds: None where neither arrivals nor earlier sweeps of the same model and machine say how long it takes.

    """

    requests: int
    most_tokens: int
    seconds: float | None


def cost_of(
    blocks: Sequence[PlannedBlock],
    least: int,
    known: Mapping[tuple[str, int], float],
    searches: Sequence[PlannedSearch] = (),
    arms: int = 1,
) -> Cost:
    """Add up the blocks below the index `least`, and the searches, of which nobody knows how long they take.

    Args:
        arms: that search.
        known: output tokens per second by (arm, concurrency), measured before.

    """
    counted = [block for block in blocks if block.index < least]
    seconds = [_seconds(block, arm, known) for block in counted for arm in block.arms]
    total = sum(second for second in seconds if second is not None)
    searched = [
        (len(attempts[0]) * arms, len(attempts[0]) * arms * (planned.cell.output_len or 0))
        for planned in searches
        for attempts in planned.prompts
    ]
    return Cost(
        requests=sum(len(block.attempts[0]) * len(block.arms) for block in counted) + sum(n for n, _ in searched),
        most_tokens=sum(_most_tokens(block) * len(block.arms) for block in counted) + sum(t for _, t in searched),
        seconds=None if None in seconds or searched else total,
    )


def _seconds(block: PlannedBlock, arm: str, known: Mapping[tuple[str, int], float]) -> float | None:
    """Of one arm; the last answers of an open loop come a little later than this."""
    cell, requests = block.cell, len(block.attempts[0])
    if cell.request_rate is not None:
        return requests / cell.request_rate
    if cell.concurrency is None:
        at_s = [prompt.at_s or 0.0 for prompt in block.attempts[0]]
        return (at_s[-1] - at_s[0]) / (cell.trace_speed or 1.0)
    like = BASELINE if arm in TARGET_ONLY else arm
    speeds = [(abs(c - cell.concurrency), speed) for (name, c), speed in known.items() if name == like]
    return _most_tokens(block) / min(speeds)[1] if speeds else None


def _most_tokens(block: PlannedBlock) -> int:
    """Of one arm."""
    return sum(prompt.output_len or block.cell.output_len or 0 for prompt in block.attempts[0])


def measured_speeds(root: Path, identity: Mapping[str, Any]) -> dict[tuple[str, int], float]:
    """Output tokens per second by (arm, concurrency) of earlier sweeps of the same model on the same machine."""
    speeds: dict[tuple[str, int], float] = {}
    for path in sorted(root.glob("*/manifest.json")):
        try:
            results = ResultDirectory.open(path.parent)
            before = results.manifest()["identity"]
        except UnusableInput:
            continue
        if all(before.get(key) == identity[key] for key in ("model", "machine")):
            speeds |= {
                (row["arm"], int(row["concurrency"])): float(row["output_throughput"])
                for row in results.rows()
                if row.get("concurrency") and row.get("output_throughput")
            }
    return speeds
