"""A sweep from its plan to its summary, here or spread over the nodes of a cluster."""

from typing import Any

from rich.console import Console

from verispec_bench.progress import RunProgress
from verispec_bench.record import ResultDirectory, Run
from verispec_bench.sweep.part import PreparedSweep, run_part
from verispec_bench.sweep.progress import run_line
from verispec_bench.sweep.summary import summarise


async def run_sweep(sweep: PreparedSweep, results: ResultDirectory, console: Console) -> dict[str, Any]:
    """Run what is missing on this machine, and summarise.

    Raises:
        InfrastructureFailed, UnusableInput: as run_part.

    """
    if not results.manifest()["complete"]:
        kept = sum(int(row["completed"]) + int(row["failed"]) for row in results.rows())
        with RunProgress(console, max(0, sweep.requests - kept)) as progress:

            def say_run(run: Run, row: dict[str, Any]) -> None:
                progress.say(run_line(run, row))

            await run_part(sweep, results, progress, on_run=say_run)
    return finish(results)


def finish(results: ResultDirectory) -> dict[str, Any]:
    """The summary of a sweep of which every run is kept, written beside them."""
    summary = summarise(results, complete=True)
    results.write_summary(summary)
    results.write_manifest(results.manifest() | {"complete": True})
    return summary
