"""`replay`: recorded acceptance traces, with each drafter's true bill."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from verispec_bench.cli.app import Json, app, out, say
from verispec_bench.errors import UnusableInput

if TYPE_CHECKING:
    from verispec_bench.speedmodel.replay import Result


@app.command()
def replay(
    files: Annotated[list[Path] | None, typer.Argument(help="Acceptance traces, .jsonl or .jsonl.gz.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Traces of each file, from its beginning.")] = 300,
    batch: Annotated[
        list[int] | None, typer.Option(min=1, help="Batch size, repeatable; default: 1 16 128 512.")
    ] = None,
    bill_file: Annotated[
        Path | None, typer.Option("--bill", help="Costs as JSON; default: the published ones.")
    ] = None,
    export_from: Annotated[
        Path | None, typer.Option("--export", help="Write DIR/traces from a sweep's result directory instead.")
    ] = None,
    as_json: Json = False,
) -> None:
    """What do the drafters of these traces bring, alone and chosen between, when each is paid for?"""
    if export_from:
        _export(export_from)
        return
    if not files:
        raise UnusableInput("no trace file: name one, or a result directory with --export")
    from verispec_bench.speedmodel.replay import PUBLISHED, Bill, read_traces
    from verispec_bench.speedmodel.replay import replay as replayed

    bill = Bill.read(bill_file) if bill_file else PUBLISHED
    names = [path.name.partition(".")[0] for path in files]
    if len(set(names)) < len(names):
        raise UnusableInput("two of the files have the same name: their results could not be told apart")
    traces = {name: read_traces(path, limit) for name, path in zip(names, files, strict=True)}
    results = replayed(traces, bill, sorted(set(batch or (1, 16, 128, 512))))
    if as_json:
        out.print_json(data={"bill": bill.model_dump(), "results": [vars(result) for result in results]})
        return
    for name in names:
        of_file = [result for result in results if result.traces == name]
        out.print(_table(name, of_file))
        say(_gap(of_file), out)
    say(f"costs: {bill.source}", out)
    say("oracles look ahead: they verify just what is kept; the others know only the text so far", out)


def _export(path: Path) -> None:
    from verispec_bench.record import ResultDirectory
    from verispec_bench.speedmodel.replay.export import export

    *traces, bill = export(ResultDirectory.open(path), path / "traces")
    say(f"now: verispec replay {' '.join(map(str, traces))} --bill {bill}", out)


def _gap(results: "list[Result]") -> str:
    from verispec_bench.speedmodel.replay import gap_recovered

    first = [result for result in results if (result.batch, result.batches) == (results[0].batch, results[0].batches)]
    share = gap_recovered(first)
    if share is None:
        return ""
    return (
        f"by match length, batch {first[0].batch}: {share:.0%} of the way from the best single drafter with a fixed "
        f"window to the oracle that pays all\n"
    )


def _table(name: str, results: "list[Result]") -> Table:
    columns = list(dict.fromkeys((result.batch, result.batches) for result in results))
    table = Table(title=f"{name}: speedup over target-only", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("policy")
    for batch, batches in columns:
        table.add_column(f"{batch}" if batch == 1 else f"{batch} {batches}", justify="right")
    for policy in dict.fromkeys(result.policy for result in results):
        speedups = {(r.batch, r.batches): r for r in results if r.policy == policy}
        oracle = " (oracle)" if next(iter(speedups.values())).looks_ahead else ""
        table.add_row(policy + oracle, *(f"{speedups[column].speedup:.2f}" for column in columns))
    return table
