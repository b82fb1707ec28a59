"""`manifest`: what a server serves and promises."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from verispec_bench.cli.app import Json, app, checked_url, out, run, say
from verispec_bench.errors import UnusableInput


@app.command()
def manifest(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="One manifest to show, or two to compare: files, or result directories.")
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="A running server, without /v1.")] = None,
    arm: Annotated[str | None, typer.Option(help="Which server of the result directories.")] = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="Write the manifest to this file.")] = None,
    as_json: Json = False,
) -> None:
    """Show a server's release manifest: what it serves, what it promises and why; or compare two."""
    from verispec_bench.record.atomic import write_json
    from verispec_bench.release import ask_server, describe, read_file

    paths = paths or []
    if len(paths) not in ((0,) if base_url else (1, 2)):
        raise UnusableInput("manifest: give --base-url URL, or one file to show, or two files to compare")
    if len(paths) == 2 and out_file:
        raise UnusableInput("--out is for one manifest; two are compared")
    if len(paths) == 2:
        _compare_manifests([read_file(path, arm) for path in paths], as_json)
        return
    found = run(ask_server(checked_url(base_url))) if base_url else read_file(paths[0], arm)
    if out_file:
        write_json(out_file, found)
    out.print_json(data=found) if as_json else say(describe(found), out)


def _compare_manifests(pair: list[dict[str, Any]], as_json: bool) -> None:
    """The differences; the answer is no if one defines the contract."""
    from verispec_bench.release import compare, defines_contract

    differences = compare(*pair)
    differs = defines_contract(differences)
    if as_json:
        out.print_json(data={"same_contract": not differs, "differences": [vars(found) for found in differences]})
    else:
        for found in differences:
            mark = ("contract", "yellow") if found.defines_contract else ("other   ", "dim")
            out.print(Text.assemble(mark, f" {found}"), soft_wrap=True)
        say("these are different contracts" if differs else "the same contract", out)
    if differs:
        raise typer.Exit(1)
