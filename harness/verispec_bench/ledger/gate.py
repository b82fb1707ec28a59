"""A short look at whether something has broken since a reference was made: for the pipeline of a serving stack.

By chance a sound server fails for its sampled law with a probability of .001, over all its tests (Holm); never for
greedy answers (a difference that rounding explains is none; whether rows drift as a whole is not judged by so few); and
for its speed if the new 95% interval lies below the reference's, by a further MARGIN. That comes less than once in a
hundred as long as both intervals cover, and starts of the servers differ by no more than the margin absorbs
(tests/harness/ledger/test_gate.py has simulated worlds). It is a statement on average over references: keep one that
is no lucky run.
"""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from verispec_bench.errors import UnusableInput
from verispec_bench.ledger.entry import Entry, Ledger, State
from verispec_bench.ledger.probability import greedy_state, law_state
from verispec_bench.record.atomic import write_json

FILE = "gate.json"
MARGIN = 0.05
"""By how much the intervals must lie apart: what one start of the servers may differ from another."""


class Gate(BaseModel):
    """What a gate found: gate.json, and the reference of those to come.

    Attributes:
        arm, cell: of the one comparison.
        contract_sha256: of the arm's server.
        machine: where it ran, as the release manifest has it.
        speedup, speedup_low, speedup_high: over target-only; None where the comparison is invalid.

    """

    model_config = ConfigDict(frozen=True)

    arm: str
    cell: str
    contract_sha256: str
    machine: dict[str, Any]
    speedup: float | None
    speedup_low: float | None
    speedup_high: float | None

    @classmethod
    def read(cls, path: Path) -> "Gate":
        """A reference: gate.json, or the directory that holds it.

        Raises:
            UnusableInput: there is none, or it is something else.

        """
        file = path / FILE if path.is_dir() else path
        try:
            return cls.model_validate_json(file.read_bytes())
        except OSError as error:
            raise UnusableInput(f"{file}: cannot be read: {error.strerror}; verispec gate writes one") from None
        except ValidationError as error:
            first = error.errors()[0]
            raise UnusableInput(f"{file}: is no {FILE}: {'.'.join(map(str, first['loc'])) or first['msg']}") from None

    def write(self, directory: Path, ledger: Ledger, reference: "Gate | None") -> Path:
        """gate.json, with the verdict beside."""
        path = directory / FILE
        write_json(path, self.as_dict(ledger, reference))
        return path

    def as_dict(self, ledger: Ledger, reference: "Gate | None") -> dict[str, Any]:
        """For JSON: what was found, the verdict, and whether the reference is of the same contract."""
        same = reference.contract_sha256 == self.contract_sha256 if reference else None
        return self.model_dump() | ledger.as_dict() | {"same_contract": same}


def found_in(summary: dict[str, Any], release: dict[str, Any]) -> Gate:
    """From the sweep of a gate, which has one arm and one cell, and its arm's release manifest."""
    [comparison] = summary["comparisons"]
    low, middle, high = (comparison[key] for key in ("speedup_low", "speedup", "speedup_high"))
    if not comparison["valid"]:
        low = middle = high = None
    return Gate(
        arm=comparison["arm"],
        cell=comparison["cell"],
        contract_sha256=release["contract_sha256"],
        machine=release["machine"],
        speedup=middle,
        speedup_low=low,
        speedup_high=high,
    )


def judge(found: Gate, verification: dict[str, Any], summary: dict[str, Any], reference: Gate | None) -> Ledger:
    """What holds, what does not, and what cannot be said.

    Args:
        found: by this gate.
        verification: verify.json.
        summary: of the sweep.
        reference: what an earlier gate found; None: this is the first.

    """
    entries = [*_answers(verification), _measured(summary)]
    if reference is not None:
        entries.append(_speed(found, reference))
    return Ledger("gate", tuple(entries))


def _answers(verification: dict[str, Any]) -> list[Entry]:
    tests, parity = verification["tests"] or [], verification["parity"]
    entries = [
        Entry(
            f"sampled tokens follow the target's law (temperature {test['sampling']['temperature']:g})",
            # A short test is wide: that is no fault. That nothing was drafted is one, of the gate's scenario.
            "closed" if test["verdict"] == "too wide" else law_state(test),
            f"TV {test['tv']:.4f}, sampling noise alone {test['tv_floor']:.4f}, p {test['p_holm']:.2g}",
            would_close="; ".join(test["reasons"]) or None,
        )
        for test in tests
    ]
    for arm in (parity or {}).get("arms", []):
        said = f"{arm['identical']} of {arm['compared']} identical, {arm['near_ties']} near-ties"
        reasons = "; ".join(arm["reasons"])
        state: State = "open" if arm["verdict"] == "drifts" else greedy_state(arm)  # of few rows chance drifts too
        entries.append(Entry("greedy answers are target-only's", state, said, would_close=reasons or None))
    return entries


def _measured(summary: dict[str, Any]) -> Entry:
    claim = "the comparison is undisturbed"
    reasons = [reason for comparison in summary["comparisons"] for reason in comparison["reasons"]]
    if reasons:
        return Entry(claim, "open", "; ".join(reasons), would_close="another run, on a quiet machine")
    return Entry(claim, "closed", "matched servers, in turns, without other load")


def _speed(found: Gate, reference: Gate) -> Entry:
    claim = "as fast as the reference"
    if (found.arm, found.cell) != (reference.arm, reference.cell):
        other = f"the reference is of {reference.arm} in {reference.cell}"
        return Entry(claim, "open", other, would_close="a reference that was made with this scenario")
    if found.machine != reference.machine:
        return Entry(claim, "open", "the reference is of another machine", would_close="a reference of this one")
    if found.speedup_high is None or reference.speedup_low is None:
        return Entry(claim, "open", "no interval", would_close="a run and a reference without disturbance")
    said = f"{_interval(found)}, reference {_interval(reference)}"
    slower = found.speedup_high < (1 - MARGIN) * reference.speedup_low
    state: State = "broken" if slower else "closed"
    return Entry(claim, state, said, found.speedup, reference.speedup_low)


def _interval(gate: Gate) -> str:
    return f"{gate.speedup:.2f} [{gate.speedup_low:.2f}, {gate.speedup_high:.2f}]"
