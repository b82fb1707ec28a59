"""`adopt`: may speculation go into production here?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from verispec_bench.cli.app import Json, app, out, say

if TYPE_CHECKING:
    from verispec_bench.ledger import Decision

STYLES = {"closed": "green", "open": "yellow", "broken": "red"}


@app.command()
def adopt(
    directory: Annotated[Path, typer.Argument(help="Result directory of a sweep.")],
    verification: Annotated[
        list[Path] | None, typer.Option(help="Result directory of verispec verify with the same arm; repeatable.")
    ] = None,
    arm: Annotated[str | None, typer.Option(help="Which speculative arm; not needed where there is one.")] = None,
    manifest: Annotated[
        Path | None, typer.Option(help="Release manifest of the server to deploy; default: the arm's own.")
    ] = None,
    min_speedup: Annotated[float, typer.Option(min=0, help="What the speedup's lower 95% bound must reach.")] = 1.0,
    max_p95_tpot: Annotated[float, typer.Option(min=0, help="What p95 TPOT may be, times the baseline's.")] = 1.03,
    as_json: Json = False,
) -> None:
    """Close the three ledgers, probability, state and performance, and decide. Exit 0: adopt; 1: any other decision."""
    from verispec_bench.ledger import decide
    from verispec_bench.ledger.performance import Thresholds

    decision = decide(directory, arm, verification or [], Thresholds(min_speedup, max_p95_tpot), manifest)
    if as_json:
        out.print_json(data=decision.as_dict())
    else:
        _show(decision)
    if decision.verdict != "adopt":
        raise typer.Exit(1)


def _show(decision: "Decision") -> None:
    from verispec_bench.ledger import DECISIONS

    out.print(Text.assemble((decision.verdict.upper(), "bold"), f": {decision.arm}: {DECISIONS[decision.verdict]}"))
    for ledger in decision.ledgers:
        out.print(Text.assemble("\n", (ledger.name, "bold"), " ", (ledger.state, STYLES[ledger.state])))
        for entry in ledger.entries:
            out.print(
                Text.assemble("  ", (f"{entry.state:7}", STYLES[entry.state]), f"{entry.claim}: {entry.evidence}"),
                soft_wrap=True,
            )
            if entry.would_close:
                say(f"         to close it: {entry.would_close}", out)
    out.print(Text("\nenvelope", "bold"))
    for cell in decision.envelope:
        reason = "" if cell["inside"] else f": {'; '.join(cell['because'])}"
        mark = ("on ", "green") if cell["inside"] else ("off", "dim")
        speedup = "n/a" if cell["speedup"] is None else f"{cell['speedup']:.2f}"
        out.print(Text.assemble("  ", mark, f"  {cell['where']}: {speedup}{reason}"), soft_wrap=True)
    if any(cell["inside"] for cell in decision.envelope):
        say(f"\nto deploy inside it:\n  {decision.deploy}", out)
