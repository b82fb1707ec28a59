"""A speculative arm against its baseline in one cell: ratios with intervals, from paired blocks of prompts.

Each block of prompts is run by both arms, in opposite orders from block to block (A B B A), so that a drift of the
machine falls on both. The interval is a hierarchical bootstrap: blocks are drawn, then prompts within each block, and
both arms are recomputed on what was drawn; the pairing of prompts is kept.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verispec_bench.client.record import RequestRecord
from verispec_bench.measure import latency
from verispec_bench.measure.percentiles import MIN_FOR_P95

RESAMPLES = 2000
MIN_BLOCKS, MIN_PAIRS = 2, 6
"""Fewer say nothing of their spread: no interval is given then."""
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
    """arm / baseline with its 95% interval; None where it cannot be computed, no interval where too little was run."""

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
    """One arm's answers as arrays over pairs, or over resamples × pairs; undefined latencies are NaN."""

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
    enough = sum(size > 0 for size in sizes) >= MIN_BLOCKS and sum(sizes) >= MIN_PAIRS
    rows = _resampled_rows(sizes, np.random.default_rng(seed)) if enough else np.empty((0, 0), dtype=np.int64)
    resampled = (whole[0].take(rows), whole[1].take(rows))
    return PairedComparison(
        speedup=_speedup(blocks, kept, whole, resampled),
        latency={
            f"p{which}_{name}": _ratio(whole, resampled, _percentile_ratio(name, which))
            for name in LATENCIES
            for which in (50, 95)
            if which == 50 or sum(sizes) >= MIN_FOR_P95
        },
        pairs=sum(sizes),
    )


def _speedup(blocks: Sequence[Block], kept: Sequence[Block], whole: Sample, resampled: Sample) -> Ratio:
    """Point estimate from the runs' durations; its relative interval from resampled busy time per token.

    In a closed loop the duration of a run is the time that its requests were in flight, over the concurrency: the
    ratio of Σ tokens / Σ time in flight estimates the same speedup, and can be resampled by prompt.
    """
    tokens = [sum(r.completion_tokens or 0 for block in kept for r in side(block)) for side in _SIDES]
    seconds = [sum(max((r.end_s or 0.0) for r in side(block)) for block in blocks if side(block)) for side in _SIDES]
    if not all(tokens) or not all(seconds):
        return Ratio()
    point = (tokens[1] / seconds[1]) / (tokens[0] / seconds[0])
    spread = _ratio(whole, resampled, _throughput_ratio)
    if spread.value is None or spread.low is None or spread.high is None:
        return Ratio(point)
    return Ratio(point, point * spread.low / spread.value, point * spread.high / spread.value)


_SIDES: tuple[Callable[[Block], Sequence[RequestRecord]], ...] = (lambda b: b.baseline, lambda b: b.arm)


def _throughput_ratio(baseline: _Arrays, arm: _Arrays) -> Floats:
    ours, theirs = (side.tokens.sum(axis=-1) / side.seconds.sum(axis=-1) for side in (baseline, arm))
    return np.asarray(theirs / ours)


def _percentile_ratio(name: str, which: int) -> Callable[[_Arrays, _Arrays], Floats]:
    def ratio(baseline: _Arrays, arm: _Arrays) -> Floats:
        ours, theirs = baseline.latencies[name], arm.latencies[name]
        undefined = np.isnan(ours) | np.isnan(theirs)
        if undefined.all():
            return np.full(ours.shape[:-1], np.nan)
        if undefined.any():
            ours, theirs = np.where(undefined, np.nan, ours), np.where(undefined, np.nan, theirs)
            with warnings.catch_warnings():  # a resample of undefined values only is left out later
                warnings.simplefilter("ignore", RuntimeWarning)
                return np.asarray(np.nanpercentile(theirs, which, axis=-1) / np.nanpercentile(ours, which, axis=-1))
        return np.asarray(np.percentile(theirs, which, axis=-1) / np.percentile(ours, which, axis=-1))

    return ratio


def _ratio(whole: Sample, resampled: Sample, statistic: Callable[[_Arrays, _Arrays], Floats]) -> Ratio:
    value = float(statistic(*whole))
    values = statistic(*resampled) if resampled[0].tokens.size else np.empty(0)
    values = values[np.isfinite(values)]
    if not np.isfinite(value):
        return Ratio()
    if len(values) < RESAMPLES / 2:
        return Ratio(value)
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Ratio(value, float(low), float(high))


def _resampled_rows(sizes: Sequence[int], rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows of the bootstrap samples, [resamples, pairs]: blocks with replacement, then prompts of each likewise.

    Blocks that lost pairs to failures are drawn as often as whole ones, and give as many rows.
    """
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    blocks = np.flatnonzero(sizes)
    drawn = rng.choice(blocks, size=(RESAMPLES, len(blocks)))
    rows_each = round(sum(sizes) / len(blocks))
    within = rng.random((RESAMPLES, len(blocks), rows_each)) * np.asarray(sizes)[drawn][..., None]
    rows = starts[drawn][..., None] + within.astype(np.int64)
    return np.asarray(rows.reshape(RESAMPLES, -1))


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
