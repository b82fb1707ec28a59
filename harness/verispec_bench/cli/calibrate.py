"""`calibrate`: what does a step cost on this server?"""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from verispec_bench.cli.app import Json, ScenarioFile, app, err, out, run, say
from verispec_bench.errors import UnusableInput


@app.command()
def calibrate(
    scenario: ScenarioFile,
    arm: Annotated[str | None, typer.Option(help="Which speculative arm; default: the scenario's first.")] = None,
    out_file: Annotated[Path | None, typer.Option("--out", help="Default: results/calibration/NAME-ARM.json.")] = None,
    as_json: Json = False,
) -> None:
    """Measure the step costs of a scenario's server, so that the controller knows them from the start.

    Name the file in the arm's settings: verispec: {control: {calibration: FILE}}. It holds for this machine, model and
    vLLM; elsewhere it is ignored with a warning.
    """
    from verispec_bench.calibrate import calibrate as measure
    from verispec_bench.calibrate import write
    from verispec_bench.scenario import load_setup

    loaded = load_setup(scenario)
    name = arm or next(iter(loaded.arms), None)
    if name not in loaded.arms:
        raise UnusableInput(f"{scenario}: no arm {name!r}; it has {', '.join(loaded.arms) or 'none that speculates'}")
    path = out_file or Path("results") / "calibration" / f"{loaded.name}-{name}.json"
    if path.suffix == ".png" or path.is_dir():
        raise UnusableInput(f"--out {path}: is for a JSON file; a plot with the ending .png is put beside it")
    path.parent.mkdir(parents=True, exist_ok=True)
    log = Path("results") / "logs" / f"calibrate-{loaded.name}-{name}.log"
    calibration = run(measure(loaded, name, log, lambda text: say(f"calibrate: {text}", err)))
    plot = write(calibration, path)
    if as_json:
        out.print_json(data=calibration)
    else:
        out.print(_table(calibration["costs"]))
        say(f"calibration: {path}", out)
        say(f"plot:        {plot}", out)


def _table(costs: dict[str, Any]) -> Table:
    table = Table(title="what a step costs", box=None)
    for column in ("tokens", "ms", "ms per token", "steps measured"):
        table.add_column(column, justify="right")
    for tokens, seconds, steps in zip(costs["tokens"], costs["seconds"], costs["steps"], strict=True):
        table.add_row(str(tokens), f"{1000 * seconds:.1f}", f"{1000 * seconds / tokens:.2f}", f"{steps:.0f}")
    table.caption = (
        f"and {1e6 * costs['kv_token_s']:.2f} µs for each token in the KV caches, "
        f"{1000 * costs['request_s']:.2f} ms for each request, {1000 * costs['drafts_s']:.2f} ms for any drafts, "
        f"{1000 * costs['prompt_token_s']:+.2f} ms for each token that is read of a prompt"
    )
    return table
