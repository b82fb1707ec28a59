"""Is it still my server? What a rejected draft leaves behind: nothing, by construction or as tested."""

from collections.abc import Sequence
from typing import Any

from verispec_bench.ledger.entry import Entry, Ledger, State
from verispec_bench.ledger.probability import VERIFY
from verispec_bench.ledger.verification import Verification, of_contract

LEAST_REJECTED = 1000
"""Rejected drafts after which answers that are all the target's count as a test of the state."""


def state_ledger(release: dict[str, Any], release_file: str, verified: Sequence[Verification]) -> Ledger:
    """Of a server; arguments as in probability_ledger.

    Where the contract does not know (the target's KV cache, grammars, stops, penalties, a draft model's cache), greedy
    answers are the test: what a rejected draft leaves behind changes the tokens after it.
    """
    fresh, _ = of_contract(verified, release["contract_sha256"])
    conditions = [entry for entry in release["contract"]["because"] if entry["part"] == "rollback"]
    return Ledger("state", tuple(_entry(condition, release_file, fresh) for condition in conditions))


def _entry(condition: dict[str, Any], file: str, fresh: Sequence[Verification]) -> Entry:
    claim = f"{condition['name'].replace('-', ' ')}: a rejected draft leaves nothing behind"
    if condition["holds"] is not None:
        return Entry(claim, "closed" if condition["holds"] else "broken", condition["why"], file=file)
    tests = [(each.parity, each.file) for each in fresh if each.parity]
    for parity, tested in tests:
        state, said = state_finding(parity)
        if state != "open":
            return Entry(claim, state, said, _rejected(parity), LEAST_REJECTED, tested)
    said = condition["why"] if not tests else f"fewer than {LEAST_REJECTED} rejected drafts were followed by an answer"
    return Entry(claim, "open", said, file=file, would_close=VERIFY)


def state_finding(parity: dict[str, Any]) -> tuple[State, str]:
    """What an arm's greedy answers say of its state, and on what ground."""
    rejected = _rejected(parity)
    unexplained = parity["unexplained"]
    said = f"{rejected} rejected drafts in {parity['compared']} answers, {unexplained} of which differ unexplained"
    if unexplained:
        return "broken", said
    return "closed" if rejected >= LEAST_REJECTED and parity["closed"] else "open", said


def _rejected(parity: dict[str, Any]) -> int:
    return int(parity["draft_tokens"] - parity["accepted_tokens"])
