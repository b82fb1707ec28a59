"""Is it still my model? By construction, by the law of served tokens, and by greedy answers."""

from collections.abc import Sequence
from typing import Any

from verispec_bench.ledger.entry import Entry, Ledger, State
from verispec_bench.ledger.verification import Verification, of_contract

VERIFY = "verispec verify SCENARIO, with this arm, and its directory as --verification"
_LAW_VERDICTS: dict[str, State] = {"closed": "closed", "deviates": "broken"}
_PARITY_VERDICTS: dict[str, State] = {"closed": "closed", "rate": "closed", "differs": "broken", "drifts": "broken"}


def probability_ledger(release: dict[str, Any], release_file: str, verified: Sequence[Verification]) -> Ledger:
    """Of a server.

    Args:
        release: its release manifest.
        release_file: where that was read.
        verified: what verifications found of it; those of other contracts are stale.

    """
    fresh, stale = of_contract(verified, release["contract_sha256"])
    return Ledger("probability", (_by_construction(release, release_file), _law(fresh, stale), _greedy(fresh, stale)))


def _by_construction(release: dict[str, Any], file: str) -> Entry:
    conditions = [entry for entry in release["contract"]["because"] if entry["part"] == "law"]
    failed = [entry for entry in conditions if entry["holds"] is False]
    unknown = [entry for entry in conditions if entry["holds"] is None]
    claim = "committed tokens follow the target's law by construction"
    if failed or unknown:
        said = "; ".join(f"{entry['name']}: {entry['why']}" for entry in failed or unknown)
        state: State = "broken" if failed else "open"
        close = None if failed else "a server of which these conditions are known"
        return Entry(claim, state, said, file=file, would_close=close)
    return Entry(claim, "closed", f"all {len(conditions)} conditions hold", file=file)


def _law(fresh: Sequence[Verification], stale: Sequence[Verification]) -> Entry:
    claim = "sampled tokens follow the target-only server's law, as served"
    tests = [(test, each.file) for each in fresh for test in each.law]
    if not tests:
        return Entry(claim, "open", _nothing(stale), would_close=VERIFY)
    worst, file = max(tests, key=lambda found: (_RANK[law_state(found[0])], found[0]["tv_upper_95"]))
    state = law_state(worst)
    said = f"{len(tests)} tests, the furthest TV {worst['tv']:.4f} (noise {worst['tv_floor']:.4f})"
    reasons = "; ".join(worst["reasons"])
    return Entry(claim, state, f"{said}: {reasons}" if reasons else said, worst["tv_upper_95"], None, file,
                 VERIFY if state == "open" else None)  # fmt: skip


def _greedy(fresh: Sequence[Verification], stale: Sequence[Verification]) -> Entry:
    claim = "greedy answers are the target-only server's"
    found = [(each.parity, each.file) for each in fresh if each.parity]
    if not found:
        return Entry(claim, "open", _nothing(stale), would_close=VERIFY)
    worst, file = max(found, key=lambda one: _RANK[greedy_state(one[0])])
    state = greedy_state(worst)
    said = f"{worst['identical']} of {worst['compared']} identical, {worst['near_ties']} near-ties"
    reasons = "; ".join(worst["reasons"])
    return Entry(claim, state, f"{said}: {reasons}" if reasons else said, worst["identical_rate"], None, file,
                 VERIFY if state == "open" else None)  # fmt: skip


def law_state(test: dict[str, Any]) -> State:
    """What a law test of `verispec verify` comes to."""
    return _LAW_VERDICTS.get(test["verdict"], "open")


def greedy_state(arm: dict[str, Any]) -> State:
    """What an arm's greedy answers come to."""
    return _PARITY_VERDICTS.get(arm["verdict"], "open")


def _nothing(stale: Sequence[Verification]) -> str:
    if not stale:
        return "not verified"
    return f"verified for another contract only ({', '.join(sorted({each.contract_sha256[:12] for each in stale}))})"


_RANK = {"closed": 0, "open": 1, "broken": 2}
