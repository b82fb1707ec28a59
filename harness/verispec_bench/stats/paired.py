"""A server against another in one cell: ratios with intervals, from paired runs of the same prompts.

Each block of prompts is run by both arms, in opposite orders from block to block (A B B A), so that a drift of the
machine falls on both. Ratios are of totals or of pooled percentiles, never means of ratios.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from verispec_bench.client.record import RequestRecord
from verispec_bench.measure import latency
from verispec_bench.measure.percentiles import MIN_FOR_P95
from verispec_bench.stats.interval import Floats, Ratio, Rows, Statistic, interval

LATENCIES: dict[str, Callable[[RequestRecord], float | None]] = {
    "ttft": latency.ttft_s,
    "tpot": latency.tpot_s,
    "e2el": latency.e2el_s,
}


@dataclass(frozen=True)
class Block:
    """The same prompts, served by both arms; record i of both answers prompt i."""

    baseline: Sequence[RequestRecord]
    arm: Sequence[RequestRecord]


@dataclass(frozen=True)
class PairedComparison:
    """What a cell says.

    Attributes:
        speedup: above 1 the arm is faster; see `compare`.
        latency: by "p50_ttft", "p95_tpot", …: ratio of that percentile; below 1 the arm is faster.
        pairs: prompts that both arms answered.

    """

    speedup: Ratio
    latency: dict[str, Ratio]
    pairs: int


def compare(blocks: Sequence[Block], *, open_loop: bool = False, trim: float = 0.0) -> PairedComparison:
    """Compare over all blocks; pairs in which either request failed are left out of both arms.

    The speedup of a closed loop is the ratio of output tokens per second. Its interval is that of total tokens over
    total time in flight, which a constant concurrency makes proportional to throughput, and which can be resampled by
    prompt; of trimmed runs, whose counted requests have no duration of their own, the value is so too.
    In an open loop the arrivals fix the throughput: there it is the ratio of mean end-to-end latencies, baseline / arm.

    Args:
        blocks: the pairs of runs.
        open_loop: requests were sent when they were due, whatever was answered.
        trim: share of each run's requests at its beginning, and at its end, that do not count.

    """
    kept = [_successful_pairs(_trimmed(block, trim)) for block in blocks]
    sizes = [len(block.arm) for block in kept]
    if not sum(sizes):
        return PairedComparison(Ratio(), {}, 0)
    sides = [[r for block in kept for r in block.baseline], [r for block in kept for r in block.arm]]
    if open_loop:
        speedup = interval(sizes, _mean_ratio(*(_column(latency.e2el_s, side) for side in sides)))
    else:
        speedup = interval(sizes, _throughput_ratio(*sides))
        speedup = speedup if trim else _around(_ratio_of_runs(blocks, kept), speedup)
    columns = {name: [_column(of, side) for side in sides] for name, of in LATENCIES.items()}
    return PairedComparison(
        speedup=speedup,
        latency={
            f"p{which}_{name}": interval(sizes, _percentile_ratio(columns[name], which))
            for name in LATENCIES
            for which in (50, 95)
            if which == 50 or sum(sizes) >= MIN_FOR_P95
        },
        pairs=sum(sizes),
    )


def _ratio_of_runs(blocks: Sequence[Block], kept: Sequence[Block]) -> float | None:
    """Total tokens / total duration of the runs, arm / baseline."""
    rates = []
    for side in ("baseline", "arm"):
        tokens = sum(r.completion_tokens or 0 for block in kept for r in getattr(block, side))
        seconds = sum(max((r.end_s or 0.0 for r in getattr(block, side)), default=0.0) for block in blocks)
        rates.append(tokens / seconds if seconds else 0.0)
    return rates[1] / rates[0] if all(rates) else None


def _around(value: float | None, ratio: Ratio) -> Ratio:
    """The interval of a ratio laid around another estimate of the same."""
    if value is None or ratio.value is None:
        return Ratio()
    low, high = (None if end is None else value * end / ratio.value for end in (ratio.low, ratio.high))
    return Ratio(value, low, high)


def _throughput_ratio(baseline: Sequence[RequestRecord], arm: Sequence[RequestRecord]) -> Statistic:
    tokens, seconds = (
        [_column(of, side) for side in (baseline, arm)] for of in (lambda r: r.completion_tokens, _in_flight_s)
    )

    def statistic(rows: Rows) -> Floats:
        rates = [t[rows].sum(axis=-1) / s[rows].sum(axis=-1) for t, s in zip(tokens, seconds, strict=True)]
        return np.asarray(np.log(rates[1] / rates[0]))

    return statistic


def _mean_ratio(baseline: Floats, arm: Floats) -> Statistic:
    return lambda rows: np.asarray(np.log(baseline[rows].mean(axis=-1) / arm[rows].mean(axis=-1)))


def _percentile_ratio(columns: Sequence[Floats], which: int) -> Statistic:
    baseline, arm = columns
    undefined = np.isnan(baseline) | np.isnan(arm)
    percentile = np.nanpercentile if undefined.any() else np.percentile
    ours, theirs = np.where(undefined, np.nan, baseline), np.where(undefined, np.nan, arm)

    def statistic(rows: Rows) -> Floats:
        with warnings.catch_warnings():  # a selection of undefined values only has none
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.asarray(np.log(percentile(theirs[rows], which, axis=-1) / percentile(ours[rows], which, axis=-1)))

    return statistic


def _in_flight_s(record: RequestRecord) -> float:
    """Time in flight: an upper bound of a request's share of the loop; queueing in the client is none of it."""
    start = record.scheduled_s if record.released_s is None else record.released_s
    return (record.end_s or 0.0) - start


def _column(of: Callable[[RequestRecord], float | None], records: Sequence[RequestRecord]) -> Floats:
    return np.array([np.nan if (value := of(record)) is None else value for record in records], dtype=np.float64)


def _trimmed(block: Block, trim: float) -> Block:
    cut = int(trim * len(block.arm))
    return Block(block.baseline[cut : len(block.baseline) - cut], block.arm[cut : len(block.arm) - cut])


def _successful_pairs(block: Block) -> Block:
    pairs = [(a, b) for a, b in zip(block.baseline, block.arm, strict=True) if _usable(a) and _usable(b)]
    return Block([a for a, _ in pairs], [b for _, b in pairs])


def _usable(record: RequestRecord) -> bool:
    return record.ok and bool(record.completion_tokens) and bool(record.chunk_times_s)
