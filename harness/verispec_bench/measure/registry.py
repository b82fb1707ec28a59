"""All metrics, and all of them at once."""

from collections.abc import Sequence
from typing import Any

from verispec_bench.measure import acceptance, latency, resources, serving, steps, throughput
from verispec_bench.measure.metric import PERCENTILES, Distribution, Metric
from verispec_bench.measure.run import COLUMN, RunData

METRICS: tuple[Metric, ...] = (
    *throughput.METRICS,
    *latency.METRICS,
    *acceptance.METRICS,
    *steps.METRICS,
    *serving.METRICS,
    *resources.METRICS,
)
TOO_FEW_FOR = "too_few_for"
"""Beside the metrics: percentiles that are null because too few requests lie beyond them."""
STRUCTURED = (*(metric.name for metric in METRICS if metric.structured), TOO_FEW_FOR, COLUMN)
"""Keys whose values are lists or dicts."""


def measure(run: RunData, percentiles: Sequence[float] = PERCENTILES) -> dict[str, Any]:
    """Every metric of a run; None where an input is missing.

    Args:
        run: what was observed.
        percentiles: of the distributions, beside the median.

    """
    measures: dict[str, Any] = {TOO_FEW_FOR: []}
    for metric in METRICS:
        values = metric.values(run, percentiles)
        measures |= values
        if isinstance(metric, Distribution):
            measures[TOO_FEW_FOR] += metric.too_few_for(values, percentiles)
    return measures
