"""What a result directory comes to: each arm in each cell, and each arm against the baseline."""

from collections.abc import Sequence
from typing import Any

from verispec_bench.client import RequestRecord
from verispec_bench.exactness import greedy_parity
from verispec_bench.measure import RunData, measure
from verispec_bench.record import ResultDirectory
from verispec_bench.scenario import BASELINE
from verispec_bench.stats import Block, PairedComparison, Ratio, compare

CELL_KEY = ("workload", "concurrency", "request_rate", "input_len", "output_len", "temperature", "max_num_seqs")
MAX_PREFIX_CACHE_HITS = 0.5
"""Share of prompt tokens found in the prefix cache beyond which prompts are taken to have been seen before.

Below it lie the chat template and the instructions that all prompts of a workload share."""
FAULTS = ("load-failed", "raised", "stalled", "invalid-output", "rule-check", "switched-off")
"""Reasons to fall back after which an arm is not what its scenario says; the others are part of how it works."""
_POOLED = ("prefix_cache_queries", "prefix_cache_hits", "preemptions")


def summarise(results: ResultDirectory, complete: bool | None = None) -> dict[str, Any]:
    """Compute summary.json from the raw records; blocks that not all arms have finished are left out.

    Args:
        complete: the sweep has just ended; default: as the manifest says.

    """
    manifest = results.manifest()
    names = [BASELINE, *manifest["identity"]["scenario"]["arms"]]
    records = results.records()
    cells: dict[str, list[Row]] = {}
    for row in results.rows():
        cells.setdefault(row["cell"], []).append(row)
    arms: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    comparisons = []
    for rows in cells.values():
        blocks = _whole_blocks(rows, names)
        for name in names if blocks else ():
            arms[name].append(_arm_in_cell([block[name] for block in blocks], records))
            if name != BASELINE:
                comparisons.append(_comparison([(block[BASELINE], block[name]) for block in blocks], records))
    return {
        "scenario": manifest["identity"]["scenario"]["name"],
        "identity_sha256": manifest["identity_sha256"],
        "complete": manifest["complete"] if complete is None else complete,
        "arms": arms,
        "comparisons": comparisons,
    }


Row = dict[str, Any]
Records = dict[str, list[RequestRecord]]


def _whole_blocks(rows: Sequence[Row], names: Sequence[str]) -> list[dict[str, Row]]:
    """{arm: row} of each block, of its last attempt that all arms finished."""
    attempts: dict[int, dict[int, dict[str, Row]]] = {}
    for row in rows:
        attempts.setdefault(int(row["block"]), {}).setdefault(int(row["attempt"]), {})[row["arm"]] = row
    blocks = []
    for _, tried in sorted(attempts.items()):
        whole = [attempt for attempt, runs in tried.items() if runs.keys() >= set(names)]
        if whole:
            blocks.append(tried[max(whole)])
    return blocks


def _arm_in_cell(rows: Sequence[Row], records: Records) -> Row:
    """One arm in one cell, all blocks pooled."""
    return {
        **{key: rows[0][key] for key in CELL_KEY},
        "arm": rows[0]["arm"],
        "num_speculative_tokens": int(rows[0]["num_speculative_tokens"]),
        **_pooled(rows, records),
    }


def _pooled(rows: Sequence[Row], records: Records) -> dict[str, Any]:
    """All metrics of several runs as one."""
    return measure(RunData.pooled([RunData.from_row(row, records[row["run"]]) for row in rows]))


def _comparison(pairs: Sequence[tuple[Row, Row]], records: Records) -> dict[str, Any]:
    """One arm against the baseline in one cell."""
    blocks = [Block(records[ours["run"]], records[theirs["run"]]) for ours, theirs in pairs]
    arm_rows = [theirs for _, theirs in pairs]
    paired = compare(blocks)
    greedy = arm_rows[0]["temperature"] == 0
    parity = greedy_parity((a, b) for block in blocks for a, b in zip(block.baseline, block.arm, strict=True))
    measures = _pooled(arm_rows, records)
    reasons = _reasons(pairs, blocks, paired, measures)
    return {
        **{key: arm_rows[0][key] for key in CELL_KEY},
        "num_speculative_tokens": int(arm_rows[0]["num_speculative_tokens"]),
        "arm": arm_rows[0]["arm"],
        "baseline": BASELINE,
        "speedup": paired.speedup.value,
        "speedup_low": paired.speedup.low,
        "speedup_high": paired.speedup.high,
        "speedup_kind": "output_throughput",
        **_ratio_columns(paired),
        "tokens_per_step": measures["tokens_per_step"],
        "acceptance_length": measures["spec_decode_acceptance_length"],
        "acceptance_rate": measures["spec_decode_acceptance_rate"],
        "batch_size_mean": measures["batch_size_mean"],
        "batch_size_p95": measures["batch_size_p95"],
        "greedy_identical": parity.identical if greedy else None,
        "greedy_compared": parity.compared if greedy else None,
        "greedy_different": len(parity.divergences) if greedy else None,
        "greedy_divergences": [vars(divergence) for divergence in parity.divergences] if greedy else None,
        "fallbacks": measures["fallbacks"],
        "target_only_share": measures["target_only_share"],
        "pairs": paired.pairs,
        "blocks": len(blocks),
        "foreign_cpu_max": max(float(row["foreign_cpu"]) for pair in pairs for row in pair),
        "valid": not reasons,
        "reasons": reasons,
    }


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


def _reasons(
    pairs: Sequence[tuple[Row, Row]], blocks: Sequence[Block], paired: PairedComparison, measures: dict[str, Any]
) -> list[str]:
    """Why the comparison must not be believed; empty for a valid one."""
    rows = [row for pair in pairs for row in pair]
    reasons = []
    if failed := sum(int(row["failed"]) for row in rows):
        reasons.append(f"{failed} requests failed")
    if not paired.pairs:
        reasons.append("no prompt was answered by both arms")
    elif paired.speedup.low is None:
        reasons.append(f"{len(pairs)} blocks with {paired.pairs} pairs of answers are too few for an interval")
    if any(ours["start"] != theirs["start"] for ours, theirs in pairs):
        reasons.append("a pair was interrupted, and its arms ran on different starts of the servers")
    busy = max(float(row["foreign_cpu"]) for row in rows)
    if any(row["contaminated"] for row in rows):
        reasons.append(f"other processes used {busy:.0%} of the machine's processors, and no clean retry was left")
    for arm, side in (("the baseline", [ours for ours, _ in pairs]), ("the arm", [theirs for _, theirs in pairs])):
        counts = {key: sum(int(row[key] or 0) for row in side) for key in _POOLED}
        if counts["prefix_cache_hits"] > MAX_PREFIX_CACHE_HITS * max(1, counts["prefix_cache_queries"]):
            reasons.append(f"{arm} found prompts in its prefix cache: they were not fresh")
        if counts["preemptions"]:
            reasons.append(f"{arm} preempted {counts['preemptions']} requests: its KV cache is too small for the load")
    if faults := {reason: count for reason, count in (measures["fallbacks"] or {}).items() if reason in FAULTS}:
        listed = ", ".join(f"{reason} ({count})" for reason, count in faults.items())
        share = measures["target_only_share"]
        time = "an unknown part" if share is None else f"{share:.0%}"
        reasons.append(f"the arm fell back to target-only decoding for {time} of the time: {listed}")
    if not any(record.num_draft_tokens for block in blocks for record in block.arm):
        reasons.append("nothing was drafted: this is not a speculative arm")
    return reasons
