"""What `adopt` and `gate` measure before they judge; both go on with what an earlier call left unfinished."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from verispec_bench.cli.app import err, resumable, run

if TYPE_CHECKING:
    from verispec_bench.exactness.verify import PreparedVerification
    from verispec_bench.sweep.part import PreparedSweep


def verified(prepared: "PreparedVerification", path: Path, again: str) -> dict[str, Any]:
    """`verispec verify SCENARIO --resume --out PATH`: what it found.

    Args:
        prepared: what is verified.
        path: the result directory.
        again: the command that goes on with it.

    """
    from verispec_bench.exactness.verify import run_verification
    from verispec_bench.ledger.evidence import write_evidence
    from verispec_bench.record import ResultDirectory

    results = ResultDirectory.create_or_resume(path, prepared.manifest, resume=True)
    with resumable(lambda: "finished chunks are kept", again):
        summary = run(run_verification(prepared, results, err))
    write_evidence(path, summary, results.manifest()["servers"])
    return summary


def swept(prepared: "PreparedSweep", path: Path, again: str) -> dict[str, Any]:
    """`verispec sweep SCENARIO --resume --out PATH`: its summary; as `verified`."""
    from verispec_bench.record import ResultDirectory
    from verispec_bench.report import render
    from verispec_bench.sweep.sweep import run_sweep

    results = ResultDirectory.create_or_resume(path, prepared.manifest, resume=True)
    with resumable(lambda: f"{len(results.rows())} finished runs are kept", again):
        summary = run(run_sweep(prepared, results, err))
    render(results, summary)
    return summary
