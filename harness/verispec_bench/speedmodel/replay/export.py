"""A sweep's own acceptance traces, and the bill of its machine: what `verispec replay` reads.

A server shows one path through each answer: where a step began, the trace holds what it committed; at the tokens within
it, what was left of it, which is the least that a step from there would have committed.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from verispec_bench.client.record import RequestRecord
from verispec_bench.errors import UnusableInput
from verispec_bench.record import ResultDirectory
from verispec_bench.record.atomic import write_text
from verispec_bench.speedmodel.replay.bill import Bill, Cost
from verispec_bench.speedmodel.replay.trace import SUFFIX
from verispec_bench.speedmodel.step_time import StepTime, Work

Row = dict[str, Any]


def export(results: ResultDirectory, directory: Path) -> list[Path]:
    """Write WORKLOAD.jsonl for each workload, and bill.json; returns the files.

    Taken are greedy requests that all arms answered with the same tokens, told chunk by chunk.

    Raises:
        UnusableInput: there is none, or no server counted its steps.

    """
    rows = [row for row in results.rows() if row["temperature"] == 0 and not row["contaminated"]]
    records = results.records()
    runs: dict[tuple[str, int, int], dict[str, Row]] = {}
    for row in rows:
        runs.setdefault((row["cell"], int(row["block"]), int(row["attempt"])), {})[row["arm"]] = row
    arms = sorted({row["arm"] for row in rows if row.get("draft_tokens")})
    lines: dict[str, list[str]] = {}
    for (cell, block, _), by_arm in runs.items():
        if not by_arm.keys() >= set(arms):
            continue
        answers = zip(*(records[by_arm[arm]["run"]] for arm in arms), strict=True)
        for index, same in enumerate(answers):
            if line := _line(f"{cell}/b{block}/{index}", arms, same):
                lines.setdefault(by_arm[arms[0]]["workload"], []).append(line)
    if not lines:
        raise UnusableInput(f"{results.path}: no greedy answer that all its drafters gave alike, and told step by step")
    directory.mkdir(parents=True, exist_ok=True)
    bill = directory / "bill.json"
    write_text(bill, _bill(rows, arms, results.path).model_dump_json(indent=2) + "\n")
    files = [directory / f"{workload}.jsonl" for workload in lines]
    for path, text in zip(files, lines.values(), strict=True):
        write_text(path, "".join(text))
    return [*files, bill]


def _line(name: str, arms: Sequence[str], answers: Sequence[RequestRecord]) -> str | None:
    tokens = answers[0].token_ids
    if not tokens or any(a.token_ids != tokens or sum(a.chunk_tokens) != len(tokens) for a in answers):
        return None
    lengths = {f"{arm}{SUFFIX}": _lengths(a.chunk_tokens) for arm, a in zip(arms, answers, strict=True)}
    trace = {"id": name, "prompt_tokens": answers[0].prompt_tokens, "generated_token_ids": tokens, **lengths}
    return json.dumps(trace) + "\n"


def _lengths(committed: Iterable[int]) -> list[int]:
    """Of each token, how many were committed from it to the end of its step."""
    return [left for tokens in committed for left in range(tokens, 0, -1)]


def _bill(rows: Sequence[Row], arms: Sequence[str], path: Path) -> Bill:
    """As fitted to the sweep's runs.

    A pass costs what the mean token in it does. A drafter costs what its clock says, in each step, and what the server
    takes longer for a round.
    """
    told = [(row, work) for row in rows if (work := Work.of(row))]
    if not told:
        raise UnusableInput(f"{path}: its servers did not count their steps, so that nothing can be priced")
    times = StepTime.fitted(
        [work for _, work in told],
        [float(row["duration"]) - (row.get("step_draft_s") or 0.0) for row, _ in told],
        [(row["cell"], row["block"]) for row, _ in told],
    )
    decoded, drafts = (sum(getattr(work, name) for _, work in told) for name in ("decoded", "drafts"))
    token_s = (times.decoding_s([work for _, work in told]) + times.draft_s * drafts) / (decoded + drafts)
    return Bill(
        source=f"fitted to the runs of {path}",
        target=Cost(kv_s=times.kv_token_s, token_s=token_s, step_s=times.step_s),
        prompt_token_s=times.prompt_token_s,
        overhead_s=0.0,
        drafters={
            arm: Cost(step_s=_draft_s([row for row, _ in told if row["arm"] == arm]) + times.round_s) for arm in arms
        },
    )


def _draft_s(rows: Sequence[Row]) -> float:
    steps = sum(row["engine_steps"] for row in rows)
    return sum(row.get("step_draft_s") or 0.0 for row in rows) / steps if steps else 0.0
