"""A speculative arm against its baseline in one cell: ratios with intervals, from paired blocks of prompts.

Each block of prompts is run by both arms, in opposite orders from block to block (A B B A), so that a drift of the
machine falls on both. The interval is a hierarchical bootstrap: blocks are drawn, then prompts within each block, and
both arms are recomputed on what was drawn; the pairing of prompts is kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verispec_bench.client.record import RequestRecord
from verispec_bench.measure import latency
from verispec_bench.measure.percentiles import MIN_FOR_P95

RESAMPLES = 2000
LEVEL = 0.95
LATENCIES: dict[str, Callable[[RequestRecord], float | None]] = {
    "ttft": latency.ttft_s,
    "tpot": latency.tpot_s,
    "e2el": latency.e2el_s,
}
Floats = NDArray[np.float64]
Sample = tuple["_Arrays", "_Arrays"]


@dataclass(frozen=True)
class Block:
    """The same prompts, served by both arms; record i of both answers prompt i."""

    baseline: Sequence[RequestRecord]
    arm: Sequence[RequestRecord]


@dataclass(frozen=True)
class Ratio:
    """arm / baseline with its 95% interval; all None where it cannot be computed."""

    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class PairedComparison:
    """What a cell says.

    Attributes:
        speedup: ratio of output tokens per second (total tokens / total duration).
        latency: by "p50_ttft", "p95_tpot", …: ratio of that percentile; below 1 the arm is faster.
        pairs: prompts that both arms answered.

    """

    speedup: Ratio
    latency: dict[str, Ratio]
    pairs: int


@dataclass(frozen=True)
class _Arrays:
    """One arm's answers as arrays over pairs; latencies that are undefined are NaN."""

    tokens: Floats
    seconds: Floats
    latencies: dict[str, Floats]

    def take(self, rows: NDArray[np.int64]) -> "_Arrays":
        return _Arrays(self.tokens[rows], self.seconds[rows], {k: v[rows] for k, v in self.latencies.items()})


def compare(blocks: Sequence[Block], seed: int = 0) -> PairedComparison:
    """Compare over all blocks; pairs in which either request failed are left out of both arms."""
    kept = [_successful_pairs(block) for block in blocks]
    sizes = [len(block.arm) for block in kept]
    if not sum(sizes):
        return PairedComparison(Ratio(), {}, 0)
    whole = (_arrays([r for b in kept for r in b.baseline]), _arrays([r for b in kept for r in b.arm]))
    draws = _resamples(sizes, np.random.default_rng(seed))
    return PairedComparison(
        speedup=_speedup(blocks, kept, whole, draws),
        latency={
            f"p{which}_{name}": _ratio(whole, draws, _percentile_ratio(name, which))
            for name in LATENCIES
            for which in (50, 95)
            if which == 50 or sum(sizes) >= MIN_FOR_P95
        },
        pairs=sum(sizes),
    )


def _speedup(blocks: Sequence[Block], kept: Sequence[Block], whole: Sample, draws: list[NDArray[np.int64]]) -> Ratio:
    """Point estimate from the runs' durations; its relative interval from resampled busy time per token.

    In a closed loop the duration of a run is the time that its requests were in flight, over the concurrency: the
    ratio of Σ tokens / Σ time in flight estimates the same speedup, and can be resampled by prompt.
    """
    tokens = [sum(r.completion_tokens or 0 for block in kept for r in side(block)) for side in _SIDES]
    seconds = [sum(max((r.end_s or 0.0) for r in side(block)) for block in blocks if side(block)) for side in _SIDES]
    if not all(tokens) or not all(seconds):
        return Ratio()
    point = (tokens[1] / seconds[1]) / (tokens[0] / seconds[0])
    spread = _ratio(whole, draws, _throughput_ratio)
    if spread.value is None or spread.low is None or spread.high is None:
        return Ratio(point)
    return Ratio(point, point * spread.low / spread.value, point * spread.high / spread.value)


_SIDES: tuple[Callable[[Block], Sequence[RequestRecord]], ...] = (lambda b: b.baseline, lambda b: b.arm)


def _throughput_ratio(baseline: _Arrays, arm: _Arrays) -> float:
    return float((arm.tokens.sum() / arm.seconds.sum()) / (baseline.tokens.sum() / baseline.seconds.sum()))


def _percentile_ratio(name: str, which: int) -> Callable[[_Arrays, _Arrays], float]:
    def ratio(baseline: _Arrays, arm: _Arrays) -> float:
        ours, theirs = baseline.latencies[name], arm.latencies[name]
        defined = ~(np.isnan(ours) | np.isnan(theirs))
        if not defined.any():
            return float("nan")
        return float(np.percentile(theirs[defined], which) / np.percentile(ours[defined], which))

    return ratio


def _ratio(whole: Sample, draws: list[NDArray[np.int64]], statistic: Callable[[_Arrays, _Arrays], float]) -> Ratio:
    value = statistic(*whole)
    resampled = np.array([statistic(whole[0].take(rows), whole[1].take(rows)) for rows in draws])
    resampled = resampled[np.isfinite(resampled)]
    if not np.isfinite(value) or len(resampled) < len(draws) / 2:
        return Ratio()
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Ratio(value, float(low), float(high))


def _resamples(sizes: Sequence[int], rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """Rows of each bootstrap sample: blocks with replacement, then prompts of each with replacement."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    nonempty = [block for block, size in enumerate(sizes) if size]
    samples = []
    for _ in range(RESAMPLES):
        drawn = rng.choice(nonempty, size=len(nonempty))
        samples.append(np.concatenate([starts[block] + rng.integers(0, sizes[block], sizes[block]) for block in drawn]))
    return samples


def _successful_pairs(block: Block) -> Block:
    pairs = [(a, b) for a, b in zip(block.baseline, block.arm, strict=True) if _usable(a) and _usable(b)]
    return Block([a for a, _ in pairs], [b for _, b in pairs])


def _usable(record: RequestRecord) -> bool:
    return record.ok and bool(record.completion_tokens) and bool(record.chunk_times_s)


def _arrays(records: Sequence[RequestRecord]) -> _Arrays:
    def column(values: list[float | None]) -> Floats:
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)

    return _Arrays(
        tokens=column([record.completion_tokens for record in records]),
        seconds=column([(record.end_s or 0.0) - record.scheduled_s for record in records]),
        latencies={name: column([of(record) for record in records]) for name, of in LATENCIES.items()},
    )
