"""Why a comparison must not be believed. What is contaminated is measured again or invalid, never averaged in."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from verispec_bench.client import RequestRecord
from verispec_bench.scenario import TARGET_ONLY
from verispec_bench.stats import PairedComparison
from verispec_bench.sweep.pairs import Row

MAX_PREFIX_CACHE_HITS = 0.5
"""Share of prompt tokens found in the prefix cache beyond which prompts are taken to have been seen before.

Below it lie the chat template and the instructions that all prompts of a workload share."""
MAX_HITS_APART = 0.05
"""How far the shares of hits of two arms may lie apart where the prompts share a prefix."""
MAX_LENGTHS_APART = 0.1
"""Answers of both arms may differ by this much in total length, or by what chance explains."""
FAULTS = ("load-failed", "raised", "stalled", "invalid-output", "rule-check", "switched-off")
"""Reasons to fall back after which an arm is not what its scenario says; the others are part of how it works."""
_POOLED = ("prefix_cache_queries", "prefix_cache_hits", "preemptions")
MAX_PROMPTS_SLOWER = 1.2
"""How much longer a first token may surely take on a speculative server, where no other request is in flight."""
Answers = Sequence[tuple[Sequence[RequestRecord], Sequence[RequestRecord]]]


def reasons_against(
    blocks: Sequence[Mapping[str, Row]],
    baseline: str,
    arm: str,
    answers: Answers,
    found: PairedComparison,
    measures: Mapping[str, Any],
    workload: Mapping[str, Any],
) -> list[str]:
    """One sentence for each thing that is wrong; empty for a valid comparison.

    Args:
        answers: of both arms, by block.
        measures: of the arm, all blocks pooled.
        workload: what the manifest says of the prompts.

    """
    pairs = [(block[baseline], block[arm]) for block in blocks]
    return [
        *_workload_reasons(workload),
        *_failure_reasons(pairs, found),
        *_disturbance_reasons(pairs),
        *_cache_reasons(baseline, arm, pairs, bool(workload.get("shares_prefix"))),
        *_length_reasons(answers),
        *([] if arm in TARGET_ONLY else _speculation_reasons(measures, answers)),
    ]


def warnings_about(
    blocks: Sequence[Mapping[str, Row]],
    baseline: str,
    arm: str,
    found: PairedComparison,
    tokens_per_step: float | None,
) -> list[str]:
    """What a reader should know of a comparison that may still be valid."""
    rows = [block[side] for block in blocks for side in (baseline, arm)]
    busy = sorted({str(row["client_bottleneck"]) for row in rows if row.get("client_bottleneck")})
    warnings = [f"the load client was the bottleneck in some runs: {busy[-1]}"] if busy else []
    for side in (baseline, arm):
        unread = [key for key in _POOLED if any(block[side].get(key) is None for block in blocks)]
        if unread:
            warnings.append(f"of {side} is not known: {', '.join(unread)}")
    loads, first_token, least = {row["concurrency"] for row in rows}, found.latency["p50_ttft"], found.speedup.low
    if loads == {1} and first_token.low is not None and first_token.low > MAX_PROMPTS_SLOWER:
        warnings.append(
            f"a request alone waits {first_token.value:.1f} times as long for its first token as on {baseline}: "
            "a drafter that reads the prompt as well does that, or something that slows the whole server; drafts do not"
        )
    if None not in loads and least is not None and tokens_per_step is not None and least > tokens_per_step:
        warnings.append(
            f"faster than {tokens_per_step:.2f} tokens a step explain: by chance, or the servers differ in more than "
            "speculation"
        )
    return warnings


def _workload_reasons(workload: Mapping[str, Any]) -> list[str]:
    return [str(workload["invalid_because"])] if workload.get("invalid_because") else []


def _failure_reasons(pairs: Sequence[tuple[Row, Row]], found: PairedComparison) -> list[str]:
    reasons = []
    if failed := sum(int(row["failed"]) for pair in pairs for row in pair):
        reasons.append(f"{failed} requests failed")
    if not found.pairs:
        reasons.append("no prompt was answered by both arms")
    elif found.speedup.low is None:
        reasons.append(f"{len(pairs)} blocks with {found.pairs} pairs of answers are too few for an interval")
    return reasons


def _disturbance_reasons(pairs: Sequence[tuple[Row, Row]]) -> list[str]:
    """What the machine did to the runs."""
    rows = [row for pair in pairs for row in pair]
    reasons = []
    if any(ours.get("start") != theirs.get("start") for ours, theirs in pairs):
        reasons.append("a pair was interrupted, and its arms ran on different starts of the servers")
    if any(row["contaminated"] for row in rows):
        busy = max(float(row["foreign_cpu"]) for row in rows)
        what = sorted({str(row["contamination"]) for row in rows if row.get("contamination")})
        said = "; ".join(what) or f"other processes used {busy:.0%} of the machine's processors"
        reasons.append(f"{said}, and no clean retry was left")
    return reasons


def _cache_reasons(baseline: str, arm: str, pairs: Sequence[tuple[Row, Row]], shares_prefix: bool) -> list[str]:
    """Prompts that a server had seen before, and a KV cache too small for the load."""
    reasons, hits = [], []
    for name, side in ((baseline, [ours for ours, _ in pairs]), (arm, [theirs for _, theirs in pairs])):
        counts = {key: sum(int(row[key] or 0) for row in side) for key in _POOLED}
        hits.append(counts["prefix_cache_hits"] / max(1, counts["prefix_cache_queries"]))
        if hits[-1] > MAX_PREFIX_CACHE_HITS and not shares_prefix:
            reasons.append(f"{name} found prompts in its prefix cache: they were not fresh")
        if counts["preemptions"]:
            reasons.append(f"{name} preempted {counts['preemptions']} requests: its KV cache is too small for the load")
    if shares_prefix and abs(hits[0] - hits[1]) > MAX_HITS_APART:
        reasons.append(f"the arms found {hits[0]:.0%} and {hits[1]:.0%} of the prompts in their prefix caches")
    return reasons


def _length_reasons(answers: Answers) -> list[str]:
    """Prompts of another length than was sent; and servers that answer at different length do different work."""
    for record in (record for both in answers for side in both for record in side):
        if record.sent_tokens and record.prompt_tokens not in (None, record.sent_tokens):
            return [f"prompts of {record.sent_tokens} tokens were sent, the servers counted {record.prompt_tokens}"]
    lengths = np.array(
        [
            (a.completion_tokens, b.completion_tokens)
            for ours, theirs in answers
            for a, b in zip(ours, theirs, strict=True)
            if a.completion_tokens and b.completion_tokens
        ],
        dtype=float,
    ).reshape(-1, 2)
    if len(lengths) < 2:
        return []
    totals, apart = lengths.sum(axis=0), lengths[:, 1] - lengths[:, 0]
    by_chance = 3.3 * float(apart.std(ddof=1)) * len(lengths) ** 0.5
    if abs(apart.sum()) <= max(MAX_LENGTHS_APART * float(totals[0]), by_chance):
        return []
    return [f"the arms' answers have {totals[0]:.0f} and {totals[1]:.0f} tokens: they did different work"]


def _speculation_reasons(measures: Mapping[str, Any], answers: Answers) -> list[str]:
    reasons = []
    if faults := {reason: count for reason, count in (measures["fallbacks"] or {}).items() if reason in FAULTS}:
        listed = ", ".join(f"{reason} ({count})" for reason, count in faults.items())
        share = measures["target_only_share"]
        time = "an unknown part" if share is None else f"{share:.0%}"
        reasons.append(f"the arm fell back to target-only decoding for {time} of the time: {listed}")
    if not any(record.num_draft_tokens for _, theirs in answers for record in theirs):
        reasons.append("nothing was drafted: this is not a speculative arm")
    return reasons
