"""Where two answers to the same prompt differ, and how that is judged."""

from dataclasses import dataclass
from typing import Any

from verispec_bench.exactness.greedy import first_difference
from verispec_bench.exactness.parity.answer import Answer, Row
from verispec_bench.exactness.parity.envelope import Envelope, gap

NEAR_TIE, UNEXPLAINED = "near-tie", "unexplained"


@dataclass(frozen=True)
class Difference:
    """The first difference between two answers.

    Attributes:
        prompt: id of the prompt.
        kind: "token": another token at the same position: the only kind that numerics can explain. With equal tokens
            as far as they go: "length", "text", "finish", "usage"; "prompt": the prompts' own tokens differ.
        position: index of the first token that differs, for "token" and "length".
        baseline, arm: both sides: token ids, lengths, texts, …

    """

    prompt: str
    kind: str
    position: int | None
    baseline: Any
    arm: Any


def find_difference(baseline: Answer, arm: Answer) -> Difference | None:
    """The first difference in what a user sees: tokens, then length, text, finish reason and usage; None if equal."""
    position = first_difference(baseline.token_ids, arm.token_ids)
    if baseline.prompt_token_ids != arm.prompt_token_ids:
        return Difference(baseline.prompt, "prompt", None, baseline.prompt_token_ids, arm.prompt_token_ids)
    if position is not None:
        if position < min(len(baseline.token_ids), len(arm.token_ids)):
            ids = baseline.token_ids[position], arm.token_ids[position]
            return Difference(baseline.prompt, "token", position, *ids)
        return Difference(baseline.prompt, "length", position, len(baseline.token_ids), len(arm.token_ids))
    for kind, ours, theirs in (
        ("text", baseline.text, arm.text),
        ("finish", (baseline.finish_reason, baseline.stop_reason), (arm.finish_reason, arm.stop_reason)),
        ("usage", baseline.completion_tokens, arm.completion_tokens),
    ):
        if ours != theirs:
            return Difference(baseline.prompt, kind, None, ours, theirs)
    return None


def judge(difference: Difference, rows: tuple[Row, Row] | None, envelope: Envelope) -> dict[str, Any]:
    """The difference with its verdict, as in verify.json.

    Args:
        rows: at the contested position, target-only's and the arm's; None if the difference is of another kind.
        envelope: what the gap must lie within, on both servers.

    """
    found: dict[str, Any] = vars(difference) | {"baseline_text": None, "arm_text": None}
    gaps: list[float | None] = [None, None]
    if rows:
        gaps = [gap(row, difference.baseline, difference.arm) for row in rows]
        texts = {token: text for token, _, text in (*rows[1], *rows[0])}
        found |= {"baseline_text": texts.get(difference.baseline), "arm_text": texts.get(difference.arm)}
    proved = bool(rows) and all(map(envelope.covers, gaps))
    return found | {
        "baseline_gap": gaps[0],
        "arm_gap": gaps[1],
        "verdict": NEAR_TIE if proved else UNEXPLAINED,
    }
