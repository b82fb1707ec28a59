"""What a result directory comes to: each arm in each cell, and each arm against the baselines."""

from collections.abc import Sequence
from typing import Any

from verispec_bench.exactness import greedy_parity
from verispec_bench.measure import RunData, measure
from verispec_bench.record import ResultDirectory
from verispec_bench.scenario import BASELINE, CONTROL, DEFAULT_BASELINE
from verispec_bench.speedmodel.prediction import errors, predict
from verispec_bench.stats import PairedComparison, Ratio
from verispec_bench.sweep.control import control_coverage
from verispec_bench.sweep.pairs import Records, Row, paired, whole_blocks
from verispec_bench.sweep.schedulers import two_schedulers
from verispec_bench.sweep.slo import KEY as SEARCH_KEY
from verispec_bench.sweep.slo import SEARCH, slo_rates
from verispec_bench.sweep.validity import reasons_against, warnings_about

CELL_KEY = (
    "workload", "concurrency", "request_rate", "trace_speed", "input_len", "output_len", "temperature", "max_num_seqs",
    "dtype",
)  # fmt: skip

_MEASURED_BESIDE = (
    "tokens_per_step", "batch_size_mean", "batch_size_p95", "fallbacks", "target_only_share", "max_feasible_batch",
    "committed_tokens_per_device_second", "committed_tokens_per_gib",
)  # fmt: skip
"""Of the arm, in each comparison."""


def summarise(results: ResultDirectory, complete: bool | None = None) -> dict[str, Any]:
    """Compute summary.json from the raw records; blocks that not all arms have finished are left out.

    Args:
        complete: the sweep has just ended; default: as the manifest says.

    """
    manifest = results.manifest()
    scenario, workloads = manifest["identity"]["scenario"], manifest["identity"]["workloads"]
    names = _arms_of(scenario)
    load: dict[str, Any] = scenario["load"]
    records = results.records()
    cells: dict[str, list[Row]] = {}
    for row in results.rows():
        if row.get(SEARCH):
            continue
        cells.setdefault(row["cell"], []).append(row)
    arms: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    comparisons = []
    kept = {cell: whole_blocks(rows, names, load["blocks"]) for cell, rows in cells.items()}
    for blocks in kept.values():
        for name in names if blocks else ():
            arms[name].append(_arm_in_cell([block[name] for block in blocks], records))
            for baseline in _baselines_of(name, names):
                workload = workloads[blocks[0][name]["workload"]]
                measured = (arms[baseline][-1], arms[name][-1])
                comparisons.append(_comparison(blocks, measured, records, load.get("trim", 0.0), workload))
    schedulers = two_schedulers(comparisons, kept, records) if load.get("same_prompts") else None
    searches = slo_rates(results.rows(), scenario)
    rates = {_search_key(found): found["slo_rate_ratio"] for found in searches or []}
    for comparison in comparisons:
        if comparison["baseline"] == BASELINE:
            comparison["slo_rate_ratio"] = rates.get(_search_key(comparison))
    return {
        "scenario": scenario["name"],
        "identity_sha256": manifest["identity_sha256"],
        "complete": manifest["complete"] if complete is None else complete,
        "arms": arms,
        "comparisons": comparisons,
        "control": control_coverage(comparisons),
        "two_schedulers": schedulers,
        "slo": searches,
        "prediction": _prediction(comparisons, kept),
        "step_costs": {
            name: server["step_costs"] for name, server in manifest["servers"].items() if server.get("step_costs")
        },
    }


def _prediction(comparisons: Sequence[dict[str, Any]], kept: dict[str, list[dict[str, Row]]]) -> dict[str, Any] | None:
    """The speed model's step times and speedups of valid closed-loop cells; None where there are too few of them."""
    intervals: dict[str, dict[str, tuple[float, float]]] = {}
    for c in comparisons:
        if c["baseline"] == BASELINE and c["valid"] and c["concurrency"] is not None:
            intervals.setdefault(c["arm"], {})[c["cell"]] = (c["speedup_low"], c["speedup_high"])
    found = {
        arm: predict({cell: kept[cell] for cell in valid}, arm, BASELINE, valid) for arm, valid in intervals.items()
    }
    cells = [cell for of_arm in found.values() for cell in of_arm]
    return {"cells": cells, "errors": {name: errors(of_arm) for name, of_arm in found.items()}} if cells else None


def _search_key(found: dict[str, Any]) -> tuple[Any, ...]:
    return (found["arm"], *(found.get(name) for name in SEARCH_KEY))


def _arms_of(scenario: dict[str, Any]) -> list[str]:
    """As Setup.all_arms, of a scenario as it stands in a manifest."""
    made = [(DEFAULT_BASELINE, "deployment_default"), (CONTROL, "control")]
    return [BASELINE, *(name for name, key in made if scenario.get(key)), *scenario["arms"]]


def _baselines_of(arm: str, names: Sequence[str]) -> list[str]:
    """What an arm is compared with: the feature-matched server, and the deployment default where there is one."""
    if arm == BASELINE:
        return []
    speculates = arm not in (DEFAULT_BASELINE, CONTROL)
    return [BASELINE, DEFAULT_BASELINE] if speculates and DEFAULT_BASELINE in names else [BASELINE]


def _arm_in_cell(rows: Sequence[Row], records: Records) -> Row:
    """One arm in one cell, all blocks pooled."""
    return {
        **{key: rows[0].get(key) for key in CELL_KEY},
        "arm": rows[0]["arm"],
        "num_speculative_tokens": int(rows[0]["num_speculative_tokens"]),
        "contaminated": any(row["contaminated"] for row in rows),
        **measure(RunData.pooled([RunData.from_row(row, records[row["run"]]) for row in rows])),
    }


def _comparison(
    blocks: Sequence[dict[str, Row]],
    measured: tuple[Row, Row],
    records: Records,
    trim: float,
    workload: dict[str, Any],
) -> dict[str, Any]:
    """One arm against a baseline in one cell; `measured` is what both come to there."""
    base_measures, measures = measured
    baseline, arm = base_measures["arm"], measures["arm"]
    found = paired(blocks, baseline, arm, records, trim)
    arm_rows = [block[arm] for block in blocks]
    both = [(records[block[baseline]["run"]], records[block[arm]["run"]]) for block in blocks]
    greedy = arm_rows[0]["temperature"] == 0
    parity = greedy_parity(pair for ours, theirs in both for pair in zip(ours, theirs, strict=True))
    reasons = reasons_against(blocks, baseline, arm, both, found, measures, workload)
    return {
        **{key: arm_rows[0].get(key) for key in CELL_KEY},
        "cell": arm_rows[0]["cell"],
        "num_speculative_tokens": int(arm_rows[0]["num_speculative_tokens"]),
        "arm": arm,
        "baseline": baseline,
        "speedup": found.speedup.value,
        "speedup_low": found.speedup.low,
        "speedup_high": found.speedup.high,
        "speedup_kind": "mean_e2el" if arm_rows[0]["concurrency"] is None else "output_throughput",
        **_ratio_columns(found),
        "acceptance_length": measures["spec_decode_acceptance_length"],
        "acceptance_rate": measures["spec_decode_acceptance_rate"],
        **{name: measures[name] for name in _MEASURED_BESIDE},
        "energy_per_token_ratio": _over(measures["energy_per_token_j"], base_measures["energy_per_token_j"]),
        "greedy_identical": parity.identical if greedy else None,
        "greedy_compared": parity.compared if greedy else None,
        "greedy_different": len(parity.divergences) if greedy else None,
        "greedy_divergences": [vars(divergence) for divergence in parity.divergences] if greedy else None,
        "pairs": found.pairs,
        "blocks": len(blocks),
        "foreign_cpu_max": max(float(block[side]["foreign_cpu"]) for block in blocks for side in (baseline, arm)),
        "warnings": warnings_about(blocks, baseline, arm, found, measures["tokens_per_step"]),
        "valid": not reasons,
        "reasons": reasons,
    }


def _over(value: float | None, by: float | None) -> float | None:
    return value / by if value is not None and by else None


def _ratio_columns(paired: PairedComparison) -> dict[str, float | None]:
    columns: dict[str, float | None] = {}
    for which in ("p50", "p95"):
        for name in ("ttft", "tpot", "e2el"):
            ratio = paired.latency.get(f"{which}_{name}", Ratio())
            columns |= {
                f"{which}_{name}_ratio": ratio.value,
                f"{which}_{name}_ratio_low": ratio.low,
                f"{which}_{name}_ratio_high": ratio.high,
            }
    return columns
