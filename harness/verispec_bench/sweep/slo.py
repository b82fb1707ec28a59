"""The highest request rate at which each arm still meets the stated latencies: bisection, each rate a run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

from verispec_bench.record import Run
from verispec_bench.scenario import BASELINE
from verispec_bench.scenario.load import SloSearch
from verispec_bench.sweep.execute import Execution
from verispec_bench.sweep.plan import PlannedSearch

PREFIX = "slo/"
"""Of the cell names of these runs: they are compared with no others."""
KEY = ("workload", "input_len", "output_len", "temperature", "max_num_seqs", "dtype")
"""One search for each."""


async def search(execution: Execution, planned: PlannedSearch) -> None:
    """Run every rate that the results do not hold yet, for each arm in turn."""
    scenario = execution.scenario
    settings = scenario.load.slo_search
    assert settings is not None
    for arm in scenario.all_arms:
        low, high = settings.low, settings.high
        for step, prompts in enumerate(planned.prompts):
            rate = _between(low, high)
            cell = replace(planned.cell, request_rate=rate)
            requests = await execution.requests(cell, prompts, f"{PREFIX}{planned.cell.workload} {step}", arm)
            run = Run(PREFIX + cell.id, step, 0, arm)
            row = await execution.measure(run, cell, requests)
            low, high = (rate, high) if is_met(row["goodput_share"], settings) else (low, rate)


def _between(low: float, high: float) -> float:
    """Their geometric mean, to three digits: what is sent is what is written down."""
    return float(f"{sqrt(low * high):.3g}")


def is_met(share: float | None, settings: SloSearch) -> bool:
    """Enough of the requests were good."""
    return share is not None and share >= settings.share


def slo_rates(rows: Sequence[Mapping[str, Any]], scenario: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """For each search and arm the highest rate that was met; None without a search.

    `slo_rate` is null where no rate was met, `slo_rate_ratio` where the baseline met none.

    Args:
        rows: all rows of the results.
        scenario: as it stands in the manifest.

    """
    load = scenario.get("load") or {}
    if not load.get("slo_search"):
        return None
    settings = SloSearch.model_validate(load["slo_search"])
    searches: dict[tuple[Any, ...], dict[str, list[Mapping[str, Any]]]] = {}
    for row in rows:
        if row["cell"].startswith(PREFIX):
            key = tuple(row.get(name) for name in KEY)
            searches.setdefault(key, {}).setdefault(row["arm"], []).append(row)
    found = []
    for key, arms in searches.items():
        rates = {arm: _highest(runs, settings) for arm, runs in arms.items()}
        base = rates.get(BASELINE)
        for arm, runs in arms.items():
            rate = rates[arm]
            probes = sorted((float(run["request_rate"]), run["goodput_share"]) for run in runs)
            found.append(
                dict(zip(KEY, key, strict=True))
                | {
                    "arm": arm,
                    "slo_rate": rate,
                    "slo_rate_ratio": rate / base if rate is not None and base else None,
                    "probes": [{"request_rate": rate, "good_share": share} for rate, share in probes],
                }
            )
    return found


def _highest(runs: Sequence[Mapping[str, Any]], settings: SloSearch) -> float | None:
    return max((float(run["request_rate"]) for run in runs if is_met(run["goodput_share"], settings)), default=None)
