"""What a metric is: declared once, with its unit, its formula in words, and what it is computed from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from verispec_bench.measure.percentiles import interval, percentile

if TYPE_CHECKING:
    from verispec_bench.measure.run import RunData

Source = Literal["requests", "usage", "chunks", "rounds", "steps", "asked", "slo", "server", "plugin", "machine", "gpu"]
SOURCES: dict[Source, str] = {
    "requests": "the client's own times and faults",
    "usage": "token counts of each answer, from the server's usage",
    "chunks": "tokens in each chunk, from running usage",
    "rounds": "each request's verification rounds, drafted and accepted tokens, from the server",
    "steps": "the same for each round of each request",
    "asked": "how many tokens each request asked for",
    "slo": "stated limits of latencies",
    "server": "vLLM's /metrics",
    "plugin": "verispec's part of /metrics",
    "machine": "the operating system",
    "gpu": "NVML",
}
PERCENTILES = (95.0, 99.0)
"""Given beside mean and median, unless others are asked for."""


class MissingError(Exception):
    """An input that was not observed: a metric that needs it is None, never 0."""


@dataclass(frozen=True)
class Metric:
    """A declared metric of a run.

    Attributes:
        name: its key; vLLM's where vLLM has it.
        unit: of its value; "" for a count or a plain ratio.
        better: which direction is; None: neither.
        formula: in words.
        needs: what it is computed from; it is None if one of them was not observed.
        compute: the value; raises MissingError, or ZeroDivisionError where a ratio has nothing below.
        structured: the value is a list or a dict.

    """

    name: str
    unit: str
    better: Literal["higher", "lower"] | None
    formula: str
    needs: tuple[Source, ...]
    compute: Callable[["RunData"], Any]
    structured: bool = False

    def values(self, run: "RunData", percentiles: Sequence[float] = PERCENTILES) -> dict[str, Any]:
        """The metric's keys with their values; None where an input is missing."""
        return {self.name: self._computed(run)}

    def _computed(self, run: "RunData") -> Any:
        try:
            return self.compute(run)
        except (MissingError, ZeroDivisionError):
            return None


@dataclass(frozen=True)
class Distribution(Metric):
    """A metric with many observations: mean, median, deviation, percentiles and their 95% intervals.

    `compute` gives the observations of each completed request. Percentiles are those of all observations; how far out
    they may lie depends on the number of *requests* with one. Intervals hold for independent observations: they are
    given where no request has two.
    """

    def values(self, run: "RunData", percentiles: Sequence[float] = PERCENTILES) -> dict[str, Any]:
        """{stat}_{name}_{unit} for mean, median, std, p95, p99 (or those asked for), and _low, _high of percentiles."""
        groups = [group for group in self._computed(run) or [] if len(group)]
        values = np.sort(np.concatenate(groups)) if groups else np.empty(0)
        independent = len(values) == len(groups)
        measures: dict[str, Any] = {
            self.key("mean"): float(values.mean()) if len(values) else None,
            self.key("std"): float(values.std()) if len(values) else None,
        }
        for stat, which in (("median", 50.0), *((f"p{which:g}", which) for which in percentiles)):
            key = self.key(stat)
            low, high = interval(values, which) if independent else (None, None)
            measures |= {key: percentile(values, which, len(groups)), f"{key}_low": low, f"{key}_high": high}
        return measures

    def too_few_for(self, values: dict[str, Any], percentiles: Sequence[float] = PERCENTILES) -> list[str]:
        """Keys of the percentiles that are None although something was observed."""
        keys = [self.key(f"p{which:g}") for which in percentiles]
        return [key for key in keys if values[key] is None and values[self.key("mean")] is not None]

    def key(self, stat: str) -> str:
        """As vLLM names it: p95_ttft_ms."""
        return f"{stat}_{self.name}_{self.unit}" if self.unit == "ms" else f"{stat}_{self.name}"
