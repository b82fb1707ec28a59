"""The highest request rate at which each arm still meets the stated latencies: bisection, each rate a run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import sqrt
from typing import Any

from verispec_bench.record import ResultDirectory, Run
from verispec_bench.scenario import BASELINE
from verispec_bench.scenario.load import SloSearch
from verispec_bench.sweep.execute import Execution
from verispec_bench.sweep.plan import PlannedSearch

SEARCH = "search"
"""Column of these runs: the id of the planned cell whose rate is looked for. They are compared with no others."""
KEY = ("workload", "input_len", "output_len", "temperature", "max_num_seqs", "dtype")
"""One search for each."""


async def search(execution: Execution, planned: PlannedSearch) -> None:
    """Run every rate that the results do not hold yet, for each arm in turn; a disturbed run is made again."""
    scenario = execution.scenario
    settings = scenario.load.slo_search
    assert settings is not None
    for arm in scenario.all_arms:
        low, high = settings.low, settings.high
        for step, attempts in enumerate(planned.prompts):
            rate = _between(low, high)
            cell = replace(planned.cell, request_rate=rate)
            for attempt, prompts in enumerate(attempts):
                run = _run(planned, arm, step, attempt)
                if not execution.results.has(run):
                    seed = f"{planned.cell.id} {step} {attempt}"
                    requests = await execution.requests(cell, prompts, seed, arm)
                    await execution.measure(run, cell, requests, {SEARCH: planned.cell.id})
                row = execution.results.row(run)
                if not row["contaminated"]:
                    break
            low, high = (rate, high) if is_met(row["goodput_share"], settings) else (low, rate)


def probes_made(results: ResultDirectory, planned: PlannedSearch, arm: str) -> int:
    """Steps of a search that an arm has behind it."""
    return sum(results.has(_run(planned, arm, step, 0)) for step in range(len(planned.prompts)))


def _run(planned: PlannedSearch, arm: str, step: int, attempt: int) -> Run:
    return Run(planned.cell.id, step, attempt, arm)


def _between(low: float, high: float) -> float:
    """Their geometric mean, to three digits: what is sent is what is written down."""
    return float(f"{sqrt(low * high):.3g}")


def is_met(share: float | None, settings: SloSearch) -> bool:
    """Enough of the requests were good."""
    return share is not None and share >= settings.share


def slo_rates(rows: Sequence[Mapping[str, Any]], scenario: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """For each search and arm what is known of the highest rate that is met; None without a search.

    It lies between `slo_rate`, the highest that was met (null: none was), and `slo_rate_above`, the lowest that was not
    (null: all were). `slo_rate_ratio` compares the former with the baseline's, and is null where one of the two has no
    such bracket. Runs that stayed disturbed are named in `reasons`.

    Args:
        rows: all rows of the results.
        scenario: as it stands in the manifest.

    """
    load = scenario.get("load") or {}
    if not load.get("slo_search"):
        return None
    settings = SloSearch.model_validate(load["slo_search"])
    searches: dict[str, dict[str, dict[int, Mapping[str, Any]]]] = {}
    for row in rows:
        if row.get(SEARCH):
            last = searches.setdefault(row[SEARCH], {}).setdefault(row["arm"], {})
            last[int(row["block"])] = max(last.get(int(row["block"]), row), row, key=lambda r: int(r["attempt"]))
    found = []
    for arms in searches.values():
        brackets = {arm: _bracket(list(runs.values()), settings) for arm, runs in arms.items()}
        base = brackets.get(BASELINE)
        for arm, steps in arms.items():
            runs, bracket = list(steps.values()), brackets[arm]
            probes = sorted((float(run["request_rate"]), run["goodput_share"]) for run in runs)
            disturbed = sorted({str(run["contamination"]) for run in runs if run["contaminated"]})
            found.append(
                {name: runs[0].get(name) for name in KEY}
                | {
                    "arm": arm,
                    "slo_rate": bracket[0],
                    "slo_rate_above": bracket[1],
                    "slo_rate_ratio": bracket[0] / base[0] if base and all(bracket) and all(base) else None,
                    "probes": [{"request_rate": rate, "good_share": share} for rate, share in probes],
                    "reasons": disturbed,
                }
            )
    return found


def _bracket(runs: Sequence[Mapping[str, Any]], settings: SloSearch) -> tuple[Any, Any]:
    rates = [(float(run["request_rate"]), is_met(run["goodput_share"], settings)) for run in runs]
    met, missed = ([rate for rate, good in rates if good is wanted] for wanted in (True, False))
    return max(met, default=None), min(missed, default=None)
