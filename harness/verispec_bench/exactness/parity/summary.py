"""What the comparison of greedy answers comes to: one entry for each arm."""

from dataclasses import asdict
from typing import Any

from verispec_bench.exactness.greedy import first_difference
from verispec_bench.exactness.parity.answer import Answer
from verispec_bench.exactness.parity.difference import NEAR_TIE, judge
from verispec_bench.exactness.parity.envelope import Envelope, changes
from verispec_bench.exactness.parity.evidence import Evidence
from verispec_bench.scenario import BASELINE, Parity

MAX_ROWS_OUTSIDE = 0.01
"""Share of an arm's sampled positions that may lie outside target-only's envelope, which is a maximum."""


def summarise_parity(parity: Parity, evidence: Evidence, dtype: str | None) -> dict[str, Any]:
    """The section `parity` of verify.json; all chunks must be made.

    Args:
        dtype: of the served weights and activations, as read back; in half precision near-ties are common and no
            rounding in parity.max_envelope's sense: what is found is reported as a rate.

    """
    skip = _contested(evidence)
    envelope = Envelope.of(_changes(evidence, BASELINE, skip))
    half = dtype is not None and "16" in dtype
    arms = [_arm(arm, parity, evidence, envelope, skip, half) for arm in evidence.arms]
    return {
        "dtype": dtype,
        "reported_as": "rate" if half else "verdict",
        "max_envelope": parity.max_envelope,
        "envelope": asdict(envelope),
        "closed": all(arm["closed"] for arm in arms),
        "arms": arms,
    }


def _contested(evidence: Evidence) -> dict[str, set[int]]:
    """{prompt: positions at which some arm's answer left target-only's}."""
    found: dict[str, set[int]] = {}
    for arm in evidence.arms:
        for difference in evidence.differences(arm):
            if difference.position is not None:
                found.setdefault(difference.prompt, set()).add(difference.position)
    return found


def _changes(evidence: Evidence, server: str, skip: dict[str, set[int]]) -> list[float | None]:
    """Of the sample: a server's steps against target-only's passes, as far as it made the same tokens."""
    baseline, rows, passes = evidence.rows(BASELINE), evidence.rows(server), evidence.passes()
    found: list[float | None] = []
    for prompt, own in baseline.items():
        shared = first_difference(own.token_ids, rows[prompt].token_ids)
        found += changes(own.rows, rows[prompt].rows[:shared], passes[prompt].rows, skip.get(prompt, ()))
    return found


def _arm(
    arm: str, parity: Parity, evidence: Evidence, envelope: Envelope, skip: dict[str, set[int]], half: bool
) -> dict[str, Any]:
    answers = evidence.answers(arm).values()
    replays = [evidence.replays(arm, server) for server in (BASELINE, arm)]
    divergences = []
    for difference in evidence.differences(arm):
        contested = difference.kind == "token"
        rows = (replays[0][difference.prompt].rows[0], replays[1][difference.prompt].rows[0]) if contested else None
        divergences.append(judge(difference, rows, envelope))
    near_ties = sum(found["verdict"] == NEAR_TIE for found in divergences)
    own = _changes(evidence, arm, skip)
    known = [change for change in own if change is not None]
    found = {
        "arm": arm,
        "baseline": BASELINE,
        "compared": len(answers),
        "identical": len(answers) - len(divergences),
        "identical_rate": 1 - len(divergences) / len(answers),
        "near_ties": near_ties,
        "unexplained": len(divergences) - near_ties,
        "rounds": sum(answer.rounds for answer in answers),
        "draft_tokens": sum(answer.draft_tokens for answer in answers),
        "accepted_tokens": sum(answer.accepted_tokens for answer in answers),
        "tokens": sum(len(answer.token_ids) for answer in answers),
        "rows": asdict(Envelope.of(own)) | {"drafted": sum(map(_drafted_positions, evidence.rows(arm).values()))},
        "rows_outside": sum(not envelope.covers(change) for change in known) / len(known) if known else None,
        "divergences": divergences,
    }
    verdict, reasons = _verdict(found, parity, envelope, half)
    return found | {"verdict": verdict, "closed": verdict in ("closed", "rate"), "reasons": reasons}


def _drafted_positions(answer: Answer) -> int:
    """Positions after the first whose rows came from steps with a draft."""
    return min(len(answer.token_ids) - 1, answer.rounds + answer.accepted_tokens)


def _verdict(found: dict[str, Any], parity: Parity, envelope: Envelope, half: bool) -> tuple[str, list[str]]:
    """The verdict, and why it is not "closed"."""
    if not found["draft_tokens"]:
        return "not drafted", ["nothing was drafted: this says nothing of the verifier"]
    if found["unexplained"]:
        return "differs", [f"{found['unexplained']} of {found['compared']} answers differ, and no near-tie explains it"]
    if envelope.maximum is None or found["rows_outside"] is None:
        return "not measured", ["the sample has no position for an envelope; ask for more (parity.envelope_prompts)"]
    if envelope.maximum > parity.max_envelope and not half:
        return "too noisy", [
            f"the envelope {envelope.maximum:.2g} is above {parity.max_envelope:g} nats (parity.max_envelope): "
            "target-only's own passes differ by more than rounding, so near-ties prove nothing"
        ]
    if found["rows_outside"] > MAX_ROWS_OUTSIDE:
        return "drifts", [
            f"{found['rows_outside']:.1%} of the sampled rows of its steps lie outside the envelope of target-only's "
            f"passes, the furthest by {found['rows']['maximum']:.2g} nats: its logits are not the target's"
        ]
    return "rate" if half else "closed", []
