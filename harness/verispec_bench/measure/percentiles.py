"""Means and percentiles that are null where there is too little to say."""

from collections.abc import Sequence

import numpy as np

MIN_FOR_P95 = 20
MIN_FOR_P99 = 100


def percentile(values: Sequence[float], which: float, requests: int | None = None) -> float | None:
    """The percentile; None for p95 of fewer than 20 requests, p99 of fewer than 100, anything of none.

    Args:
        requests: how many requests the values come from; default: each from its own.

    """
    needed = {95: MIN_FOR_P95, 99: MIN_FOR_P99}.get(int(which), 1)
    enough = (len(values) if requests is None else requests) >= needed
    return float(np.percentile(values, which)) if enough and len(values) else None


def describe(values_s: Sequence[float], name: str, requests: int | None = None) -> dict[str, float | None]:
    """vLLM's keys for a latency, in milliseconds: mean_, median_, std_, p95_, p99_{name}_ms."""
    ms = [1000 * value for value in values_s]
    return {
        f"mean_{name}_ms": float(np.mean(ms)) if ms else None,
        f"median_{name}_ms": percentile(ms, 50),
        f"std_{name}_ms": float(np.std(ms)) if ms else None,
        f"p95_{name}_ms": percentile(ms, 95, requests),
        f"p99_{name}_ms": percentile(ms, 99, requests),
    }
