"""What a result directory comes to: each arm in each cell, and each arm against the baseline."""

from collections.abc import Sequence
from typing import Any

from verispec_bench.client import RequestRecord
from verispec_bench.exactness import greedy_parity
from verispec_bench.measure import measure_run
from verispec_bench.measure.acceptance import accepted_per_round
from verispec_bench.measure.run import measure_acceptance
from verispec_bench.record import ResultDirectory
from verispec_bench.scenario import BASELINE
from verispec_bench.stats import Block, PairedComparison, Ratio, compare

CELL_KEY = ("workload", "concurrency", "request_rate", "input_len", "output_len", "temperature", "max_num_seqs")
MAX_PREFIX_CACHE_HITS = 0.1
"""Share of prompt tokens found in the prefix cache beyond which a cell is called contaminated: prompts were seen."""
_POOLED = ("prefix_cache_queries", "prefix_cache_hits", "preemptions")


def summarise(results: ResultDirectory) -> dict[str, Any]:
    """Compute summary.json from the raw records; cells that have no whole pair yet are left out."""
    records = results.records()
    cells: dict[str, list[dict[str, Any]]] = {}
    for row in results.rows():
        cells.setdefault(row["cell"], []).append(row)
    arms: dict[str, list[dict[str, Any]]] = {}
    comparisons = []
    for rows in cells.values():
        names = dict.fromkeys(row["arm"] for row in rows)
        for arm in names:
            arms.setdefault(arm, []).append(_arm_in_cell([row for row in rows if row["arm"] == arm], records))
        for arm in names:
            if arm != BASELINE and (pairs := _pairs(rows, arm)):
                comparisons.append(_comparison(pairs, records))
    manifest = results.manifest()
    return {
        "scenario": manifest["identity"]["scenario"]["name"],
        "identity_sha256": manifest["identity_sha256"],
        "complete": manifest["complete"],
        "arms": arms,
        "comparisons": comparisons,
    }


Row = dict[str, Any]
Records = dict[str, list[RequestRecord]]


def _pairs(rows: Sequence[Row], arm: str) -> list[tuple[Row, Row]]:
    """(baseline row, arm row) of each block, of its last attempt that both arms finished."""
    found: dict[int, dict[tuple[int, str], Row]] = {}
    for row in rows:
        found.setdefault(int(row["block"]), {})[int(row["attempt"]), row["arm"]] = row
    pairs = []
    for _, runs in sorted(found.items()):
        whole = [attempt for attempt, name in runs if name == arm and (attempt, BASELINE) in runs]
        if whole:
            pairs.append((runs[max(whole), BASELINE], runs[max(whole), arm]))
    return pairs


def _arm_in_cell(rows: Sequence[Row], records: Records) -> Row:
    """One arm in one cell, all counted runs pooled."""
    last = {row["block"]: row for row in sorted(rows, key=lambda row: int(row["attempt"]))}
    pooled = [record for row in last.values() for record in records[row["run"]]]
    duration = sum(float(row["duration"]) for row in last.values())
    done = [record for record in pooled if record.ok]
    output = sum(record.completion_tokens or 0 for record in done)
    prompt = sum(record.prompt_tokens or 0 for record in done)

    def rate(count: int) -> float | None:
        return count / duration if done and duration else None

    return {
        **{key: rows[0][key] for key in CELL_KEY},
        "arm": rows[0]["arm"],
        "num_speculative_tokens": int(rows[0]["num_speculative_tokens"]),
        **measure_run(pooled),
        "duration": duration,
        "request_throughput": rate(len(done)),
        "output_throughput": rate(output),
        "total_token_throughput": rate(output + prompt),
        "input_len_mean": prompt / len(done) if done else None,
        "output_len_mean": output / len(done) if done else None,
        "batch_size_mean": _mean([row["batch_size_mean"] for row in last.values()]),
        "batch_size_p95": _mean([row["batch_size_p95"] for row in last.values()]),
        "accepted_per_round": accepted_per_round(done),
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
        "batch_size_mean": _mean([row["batch_size_mean"] for row in arm_rows]),
        "batch_size_p95": _mean([row["batch_size_p95"] for row in arm_rows]),
        "greedy_identical": parity.identical if greedy else None,
        "greedy_compared": parity.compared if greedy else None,
        "greedy_different": len(parity.divergences) if greedy else None,
        "greedy_divergences": [vars(divergence) for divergence in parity.divergences] if greedy else None,
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


def _reasons(pairs: Sequence[tuple[Row, Row]], blocks: Sequence[Block], paired: PairedComparison) -> list[str]:
    """Why the comparison must not be believed; empty for a valid one."""
    rows = [row for pair in pairs for row in pair]
    reasons = []
    if failed := sum(int(row["failed"]) for row in rows):
        reasons.append(f"{failed} requests failed")
    if not paired.pairs:
        reasons.append("no prompt was answered by both arms")
    busy = max(float(row["foreign_cpu"]) for row in rows)
    if any(row["contaminated"] for row in rows):
        reasons.append(f"other processes used {busy:.0%} of the machine's processors, and no clean retry was left")
    for arm, side in (("the baseline", [ours for ours, _ in pairs]), ("the arm", [theirs for _, theirs in pairs])):
        counts = {key: sum(int(row[key] or 0) for row in side) for key in _POOLED}
        if counts["prefix_cache_hits"] > MAX_PREFIX_CACHE_HITS * max(1, counts["prefix_cache_queries"]):
            reasons.append(f"{arm} found prompts in its prefix cache: they were not fresh")
        if counts["preemptions"]:
            reasons.append(f"{arm} preempted {counts['preemptions']} requests: its KV cache is too small for the load")
    if not any(record.num_draft_tokens for block in blocks for record in block.arm):
        reasons.append("nothing was drafted: this is not a speculative arm")
    return reasons


def _mean(values: Sequence[Any]) -> float | None:
    known = [float(value) for value in values if value is not None]
    return sum(known) / len(known) if known else None
