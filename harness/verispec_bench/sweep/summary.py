"""What a result directory comes to: each arm in each cell, and each arm against the baseline."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from verispec_bench.client import RequestRecord
from verispec_bench.exactness import greedy_parity
from verispec_bench.measure import measure_run
from verispec_bench.measure.acceptance import accepted_per_round
from verispec_bench.measure.run import measure_acceptance, total
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
    pooled = [record for row in rows for record in records[row["run"]]]
    duration = sum(float(row["duration"]) for row in rows)
    measures = measure_run(pooled)
    output, prompt = measures["total_output_tokens"], measures["total_input_tokens"]
    done = measures["completed"]

    def rate(count: int | None) -> float | None:
        return count / duration if count is not None and done and duration else None

    return {
        **{key: rows[0][key] for key in CELL_KEY},
        "arm": rows[0]["arm"],
        "num_speculative_tokens": int(rows[0]["num_speculative_tokens"]),
        **measures,
        "duration": duration,
        "request_throughput": rate(done),
        "output_throughput": rate(output),
        "total_token_throughput": rate(total((output, prompt))),
        "input_len_mean": None if prompt is None else prompt / done,
        "output_len_mean": None if output is None else output / done,
        **_batch_size(rows),
        "accepted_per_round": accepted_per_round([record for record in pooled if record.ok]),
    }


def _batch_size(rows: Sequence[Row]) -> dict[str, float | None]:
    """Of the pooled samples of all blocks."""
    samples = [value for row in rows for value in row["running_samples"] or []]
    return {
        "batch_size_mean": float(np.mean(samples)) if samples else None,
        "batch_size_p95": float(np.percentile(samples, 95)) if samples else None,
    }


def _comparison(pairs: Sequence[tuple[Row, Row]], records: Records) -> dict[str, Any]:
    """One arm against the baseline in one cell."""
    blocks = [Block(records[ours["run"]], records[theirs["run"]]) for ours, theirs in pairs]
    arm_rows = [theirs for _, theirs in pairs]
    paired = compare(blocks)
    answers = [record for block in blocks for record in block.arm if record.ok]
    greedy = arm_rows[0]["temperature"] == 0
    parity = greedy_parity((a, b) for block in blocks for a, b in zip(block.baseline, block.arm, strict=True))
    acceptance = measure_acceptance(answers)
    reasons = _reasons(pairs, blocks, paired)
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
        "tokens_per_step": acceptance["tokens_per_step"],
        "acceptance_length": acceptance["spec_decode_acceptance_length"],
        "acceptance_rate": acceptance["spec_decode_acceptance_rate"],
        **_batch_size(arm_rows),
        "greedy_identical": parity.identical if greedy else None,
        "greedy_compared": parity.compared if greedy else None,
        "greedy_different": len(parity.divergences) if greedy else None,
        "greedy_divergences": [vars(divergence) for divergence in parity.divergences] if greedy else None,
        **_fallback(arm_rows),
        "pairs": paired.pairs,
        "blocks": len(blocks),
        "foreign_cpu_max": max(float(row["foreign_cpu"]) for pair in pairs for row in pair),
        "valid": not reasons,
        "reasons": reasons,
    }


def _fallback(rows: Sequence[Row]) -> dict[str, Any]:
    """Times that the arm fell back, by reason, and the share of time without drafting; None without the plugin."""
    known = [row for row in rows if row.get("target_only_s") is not None]
    reasons = sorted({reason for row in known for reason in row["fallbacks"] or {}})
    duration = sum(float(row["duration"]) for row in known)
    return {
        "fallbacks": {reason: sum((row["fallbacks"] or {}).get(reason, 0) for row in known) for reason in reasons}
        if known
        else None,
        "target_only_share": sum(float(row["target_only_s"]) for row in known) / duration if duration else None,
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


def _reasons(pairs: Sequence[tuple[Row, Row]], blocks: Sequence[Block], paired: PairedComparison) -> list[str]:
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
    fallbacks = _fallback([theirs for _, theirs in pairs])
    if faults := {reason: count for reason, count in (fallbacks["fallbacks"] or {}).items() if reason in FAULTS}:
        listed = ", ".join(f"{reason} ({count})" for reason, count in faults.items())
        share = fallbacks["target_only_share"]
        reasons.append(f"the arm fell back to target-only decoding for {share:.0%} of the time: {listed}")
    if not any(record.num_draft_tokens for block in blocks for record in block.arm):
        reasons.append("nothing was drafted: this is not a speculative arm")
    return reasons
