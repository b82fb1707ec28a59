"""From three ledgers to one decision."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from verispec_bench.errors import UnusableInput
from verispec_bench.ledger.deploy import deployment
from verispec_bench.ledger.entry import Ledger
from verispec_bench.ledger.performance import Thresholds, envelope, performance_ledger
from verispec_bench.ledger.probability import probability_ledger
from verispec_bench.ledger.state import state_ledger
from verispec_bench.ledger.verification import read_verification
from verispec_bench.record import ResultDirectory
from verispec_bench.release import read_file
from verispec_bench.scenario import BASELINE, CONTROL, DEFAULT_BASELINE

Verdict = Literal["adopt", "experiment", "approximate", "blocked"]
DECISIONS: dict[Verdict, str] = {
    "adopt": "all three ledgers are closed: turn it on inside the envelope",
    "experiment": "keep it as an experiment: not everything is shown, or nothing is won",
    "approximate": "approximate only: it does not follow the target's law, whatever it wins",
    "blocked": "blocked: rejected drafts leave something behind",
}


@dataclass(frozen=True)
class Region:
    """Cells in which to do the same.

    Attributes:
        where: the cells in words.
        deploy: the command of the server for them: the arm's where it is adopted, else the target-only one's.

    """

    verdict: Verdict
    where: list[str]
    deploy: str


@dataclass(frozen=True)
class Decision:
    """What to do with an arm, and why.

    Attributes:
        verdict: the best of the regions'.
        ledgers: probability, state, performance.
        envelope: each measured cell, and whether the arm is shown to win there.
        regions: what to do in which cells.
        deploy: the command of the arm's server.

    """

    arm: str
    verdict: Verdict
    ledgers: tuple[Ledger, ...]
    envelope: list[dict[str, Any]]
    regions: list[Region]
    deploy: str

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "arm": self.arm,
            "decision": self.verdict,
            "says": DECISIONS[self.verdict],
            "ledgers": {ledger.name: ledger.as_dict() for ledger in self.ledgers},
            "envelope": self.envelope,
            "regions": [asdict(region) for region in self.regions],
            "deploy": self.deploy,
        }


def decide(
    directory: Path,
    arm: str | None,
    verifications: Sequence[Path],
    thresholds: Thresholds,
    release_file: Path | None = None,
    only: Sequence[str] = (),
) -> Decision:
    """The decision about an arm of a sweep.

    Args:
        directory: of the sweep.
        arm: which; not needed where there is one.
        verifications: directories of `verispec verify`.
        thresholds: what a cell must reach.
        release_file: release manifest of the server that is to be deployed; default: the arm's own.
        only: decide about these cells alone: patterns of their names (fnmatch); default: all.

    Raises:
        UnusableInput: no such arm or cell, or a directory is not what it should be.

    """
    results = ResultDirectory(directory)
    manifest, summary = results.manifest(), results.summary()
    if BASELINE not in manifest.get("servers", {}):
        raise UnusableInput(f"{directory}: was swept over several server settings (axes); a decision is about one")
    name = _arm(manifest, arm, directory)
    measured, file = read_file(directory, name), str(release_file or directory / "manifest.json")
    release = read_file(release_file) if release_file else measured
    verified = [read_verification(path, name) for path in verifications]
    cells = envelope(summary, name, thresholds)
    asked = cells_called(only, [cell["cell"] for cell in cells], directory)
    cells = [cell for cell in cells if cell["cell"] in asked]
    ledgers = (
        probability_ledger(release, file, verified),
        state_ledger(release, file, verified),
        performance_ledger(release, measured, summary, cells, thresholds, str(directory / "summary.json")),
    )
    verdict, servers = _verdict(*ledgers), manifest["servers"]
    deploy = deployment(servers[name])
    return Decision(
        name, verdict, ledgers, cells, _regions(verdict, cells, deploy, deployment(servers[BASELINE])), deploy
    )


def cells_called(patterns: Sequence[str], cells: Sequence[str], source: Path) -> list[str]:
    """The cells whose name one of the patterns fits; all where there is none.

    Raises:
        UnusableInput: a pattern fits none.

    """
    for pattern in patterns:
        if not any(fnmatchcase(cell, pattern) for cell in cells):
            raise UnusableInput(f"{source}: no cell is called {pattern}; it has {', '.join(cells) or 'none'}")
    return [cell for cell in cells if any(fnmatchcase(cell, pattern) for pattern in patterns or ["*"])]


def _arm(manifest: dict[str, Any], arm: str | None, directory: Path) -> str:
    arms = [name for name in manifest["servers"] if name not in (BASELINE, CONTROL, DEFAULT_BASELINE)]
    if arm is None and len(arms) != 1:
        raise UnusableInput(f"{directory}: choose one with --arm: {', '.join(arms) or 'it has no speculative arm'}")
    if arm is not None and arm not in arms:
        raise UnusableInput(f"{directory}: no arm {arm!r}; it has {', '.join(arms) or 'none that speculates'}")
    return arm or arms[0]


def _regions(verdict: Verdict, cells: list[dict[str, Any]], deploy: str, target_only: str) -> list[Region]:
    adopted = [cell["where"] for cell in cells if verdict == "adopt" and cell["inside"]]
    others = [cell["where"] for cell in cells if not (verdict == "adopt" and cell["inside"])]
    regions = [
        Region("adopt", adopted, deploy),
        Region("experiment" if verdict == "adopt" else verdict, others, target_only),
    ]
    return [region for region in regions if region.where]


def _verdict(probability: Ledger, state: Ledger, performance: Ledger) -> Verdict:
    if state.state == "broken":
        return "blocked"
    if probability.state == "broken":
        return "approximate"
    closed = all(ledger.state == "closed" for ledger in (probability, state, performance))
    return "adopt" if closed else "experiment"
