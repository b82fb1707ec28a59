"""`adopt`: may speculation go into production here?"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from verispec_bench.cli.app import Json, OutDir, app, err, out, say
from verispec_bench.cli.measured import swept, verified
from verispec_bench.errors import UnusableInput

if TYPE_CHECKING:
    from verispec_bench.ledger import Decision
    from verispec_bench.ledger.entry import Ledger

STYLES = {"closed": "green", "open": "yellow", "broken": "red"}


@app.command()
def adopt(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR|SCENARIO", help="Result directory of a sweep, or a scenario: measured first.")
    ],
    verification: Annotated[
        list[Path] | None, typer.Option(help="Result directory of verispec verify with the same arm; repeatable.")
    ] = None,
    arm: Annotated[str | None, typer.Option(help="Which speculative arm; not needed where there is one.")] = None,
    manifest: Annotated[
        Path | None, typer.Option(help="Release manifest of the server to deploy; default: the arm's own.")
    ] = None,
    min_speedup: Annotated[float, typer.Option(min=0, help="What the speedup's lower 95% bound must reach.")] = 1.0,
    max_p95_tpot: Annotated[float, typer.Option(min=0, help="What p95 TPOT may be, times the baseline's.")] = 1.03,
    cell: Annotated[
        list[str] | None,
        typer.Option(help="Only cells of this name ('chat/c8/*'), for a gate on one region; repeatable."),
    ] = None,
    out_dir: OutDir = None,
    report: Annotated[bool, typer.Option("--report", help="Put the decision into the sweep's report.html.")] = False,
    as_json: Json = False,
) -> None:
    """Close the three ledgers, probability, state and performance, and decide. Exit 0: adopt; 1: any other decision."""
    from verispec_bench.ledger import decide
    from verispec_bench.ledger.performance import Thresholds
    from verispec_bench.record import ResultDirectory
    from verispec_bench.release import read_file
    from verispec_bench.report import keep_decision, render

    verifications = list(verification or [])
    if directory.is_file() or directory.suffix in (".yaml", ".yml"):
        if manifest:
            read_file(manifest)  # what cannot be used is refused before anything is measured
        directory, made = _measured(directory, arm, cell or (), verifications, out_dir)
        verifications += made
    elif out_dir:
        raise UnusableInput(f"--out is for a scenario that is to be measured; {directory} is none")
    decision = decide(directory, arm, verifications, Thresholds(min_speedup, max_p95_tpot), manifest, cell or ())
    if report:
        results = ResultDirectory.open(directory)
        keep_decision(directory, results.summary(), decision.as_dict())
        say(f"report: {render(results, results.summary())}", err)
    if as_json:
        out.print_json(data=decision.as_dict())
    else:
        _show(decision)
    if decision.verdict != "adopt":
        raise typer.Exit(1)


def _measured(
    scenario: Path, arm: str | None, only: Sequence[str], verifications: Sequence[Path], out_dir: Path | None
) -> tuple[Path, list[Path]]:
    """Verify a scenario where it says what to verify, and sweep it: both result directories.

    What cannot be used, `only` and `verifications` included, is refused before anything is measured.
    """
    from verispec_bench.exactness.verify import prepare_verification
    from verispec_bench.ledger.decision import cells_called
    from verispec_bench.ledger.verification import read_verification
    from verispec_bench.scenario import cells_of, load_scenario, load_verification
    from verispec_bench.scenario.servers import ServerAxes
    from verispec_bench.sweep.part import prepare

    loaded = load_scenario(scenario)
    if arm not in loaded.arms and (arm or len(loaded.arms) != 1):
        raise UnusableInput(f"{scenario}: choose one with --arm: {', '.join(loaded.arms)}")
    if loaded.axes != ServerAxes():
        raise UnusableInput(f"{scenario}: a decision is about one setting of the servers: leave axes out")
    path = out_dir or Path("results") / f"adopt-{loaded.name}"
    cells_called(only, [cell.id for cell in cells_of(loaded)], scenario)
    for directory in verifications:
        read_verification(directory, arm or next(iter(loaded.arms)))
    again, load = f"verispec adopt {scenario} --out {path}, and the options", prepare(loaded, scenario.parent)
    made = []
    if loaded.exactness or loaded.parity:
        made = [path / "verify"]
        verified(prepare_verification(load_verification(scenario)), made[0], again)
    swept(load, path / "sweep", again)
    return path / "sweep", made


def show_entries(ledger: "Ledger") -> None:
    """A line for each claim, and one for what would close it."""
    for entry in ledger.entries:
        out.print(
            Text.assemble("  ", (f"{entry.state:7}", STYLES[entry.state]), f"{entry.claim}: {entry.evidence}"),
            soft_wrap=True,
        )
        if entry.would_close and entry.state != "closed":
            say(f"         to close it: {entry.would_close}", out)


def _show(decision: "Decision") -> None:
    from verispec_bench.ledger import DECISIONS

    out.print(Text.assemble((decision.verdict.upper(), "bold"), f": {decision.arm}: {DECISIONS[decision.verdict]}"))
    for ledger in decision.ledgers:
        out.print(Text.assemble("\n", (ledger.name, "bold"), " ", (ledger.state, STYLES[ledger.state])))
        show_entries(ledger)
    out.print(Text("\nenvelope", "bold"))
    for cell in decision.envelope:
        reason = "" if cell["inside"] else f": {'; '.join(cell['because'])}"
        mark = ("in ", "green") if cell["inside"] else ("out", "dim")
        speedup = "n/a" if cell["speedup"] is None else f"{cell['speedup']:.2f}"
        out.print(Text.assemble("  ", mark, f"  {cell['where']}: {speedup}{reason}"), soft_wrap=True)
    for region in decision.regions:
        out.print(Text.assemble("\n", (region.verdict, "bold"), f" in {'; '.join(region.where)}:"), soft_wrap=True)
        say(f"  {region.deploy}", out)
