"""What `adopt` and `gate` measure before they judge; both go on with what an earlier call left unfinished."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verispec_bench.cli.app import err, run, say

if TYPE_CHECKING:
    from verispec_bench.scenario import Scenario, Verification


def verified(scenario: "Verification", path: Path) -> dict[str, Any]:
    """`verispec verify SCENARIO --resume --out PATH`: what it found."""
    from verispec_bench.exactness.verify import prepare_verification, run_verification
    from verispec_bench.ledger.evidence import write_evidence
    from verispec_bench.record import ResultDirectory

    prepared = prepare_verification(scenario)
    results = ResultDirectory.create_or_resume(path, prepared.manifest, resume=True)
    with _said_if_interrupted(path):
        summary = run(run_verification(prepared, results, err))
    write_evidence(path, summary, results.manifest()["servers"])
    return summary


def swept(scenario: "Scenario", beside: Path, path: Path) -> dict[str, Any]:
    """`verispec sweep SCENARIO --resume --out PATH`: its summary.

    Args:
        scenario: what is measured.
        beside: the directory that its files are named from.
        path: the result directory.

    """
    from verispec_bench.record import ResultDirectory
    from verispec_bench.report import render
    from verispec_bench.sweep.part import prepare
    from verispec_bench.sweep.sweep import run_sweep

    prepared = prepare(scenario, beside)
    results = ResultDirectory.create_or_resume(path, prepared.manifest, resume=True)
    with _said_if_interrupted(path):
        summary = run(run_sweep(prepared, results, err))
    render(results, summary)
    return summary


@contextmanager
def _said_if_interrupted(path: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted: what is finished is kept; go on with the same command and --out {path.parent}", err)
        raise
