"""`sweep` and `report`: measure a scenario, and look at it again."""

import json
import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from verispec_bench.cli.app import (
    DryRun,
    Json,
    OutDir,
    Resume,
    ScenarioFile,
    app,
    err,
    out,
    result_path,
    resumable,
    run,
    say,
)
from verispec_bench.errors import UnusableInput


class Executor(StrEnum):
    """Where a sweep runs."""

    LOCAL = "local"
    RAY = "ray"


@app.command()
def sweep(
    scenario: ScenarioFile,
    resume: Resume = False,
    dry_run: DryRun = False,
    out_dir: OutDir = None,
    control: Annotated[
        bool, typer.Option("--control", help="Compare a second baseline server with the first too (A/A).")
    ] = False,
    executor: Annotated[
        Executor, typer.Option(help="Run here, or spread the cells over the nodes of a Ray cluster.")
    ] = Executor.LOCAL,
    ray_address: Annotated[str | None, typer.Option(help="Of the cluster; default: as Ray finds it.")] = None,
    ray_resources: Annotated[
        str | None,
        typer.Option(help='What the servers of one comparison need on a node, as JSON; default: its CPUs: {"CPU": 2}.'),
    ] = None,
    as_json: Json = False,
) -> None:
    """Run a scenario: speculative servers against the matched target-only server, over all cells."""
    from verispec_bench.scenario import load_scenario

    loaded = load_scenario(scenario)
    if control:
        loaded = loaded.model_copy(update={"control": True})
    from verispec_bench.record import ResultDirectory
    from verispec_bench.report import render
    from verispec_bench.sweep.describe import describe_plan
    from verispec_bench.sweep.part import prepare
    from verispec_bench.sweep.sweep import run_sweep

    needed = _resources(ray_resources)
    prepared = prepare(loaded, scenario.parent)
    if dry_run:
        plan = describe_plan(prepared)
        out.print_json(data=plan) if as_json else say(plan["text"], out)
        return
    path = out_dir or result_path(prepared.scenario.name, prepared.manifest["identity_sha256"], resume)
    results = ResultDirectory.create_or_resume(path, prepared.manifest, resume)
    say(f"results go to {path}", err)
    also = " --control" if control else ""
    if executor is Executor.RAY:
        also += " --executor ray, and the options of Ray"
    again = f"verispec sweep {scenario} --resume --out {path}{also}"
    with resumable(lambda: f"{len(results.rows())} finished runs are kept", again):
        if executor is Executor.RAY:
            from verispec_bench.sweep.ray_executor import run_on_ray

            summary = run_on_ray(prepared, scenario.parent, results, err, address=ray_address, resources=needed)
        else:
            summary = run(run_sweep(prepared, results, err))
    page = render(results, summary)
    if as_json:
        out.print_json(data=summary)
    else:
        _show(summary)
        plot = path / "figures" / "speedup_vs_batch.png"
        say(f"plot:   {plot}\nreport: {page}" if plot.is_file() else f"report: {page}", out)
    is_known = any(found["slo_rate"] is not None and not found["reasons"] for found in summary["slo"] or [])
    if not any(comparison["valid"] for comparison in summary["comparisons"]) and not is_known:
        raise typer.Exit(1)


def _resources(text: str | None) -> dict[str, float] | None:
    """Amounts by Ray's names."""
    if text is None:
        return None
    try:
        amounts = {str(name): float(amount) for name, amount in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        amounts = {"": -1.0}
    if not all(0 < amount < math.inf for amount in amounts.values()):
        raise UnusableInput(f'--ray-resources {text}: is no JSON object like {{"CPU": 2, "GPU": 1}}')
    return amounts


def _show(summary: dict[str, Any]) -> None:
    """The table, and why invalid cells are invalid."""
    from verispec_bench.labels import where
    from verispec_bench.report import finding_lines, summary_table

    out.print(summary_table(summary))
    for comparison in summary["comparisons"]:
        for reason in comparison["reasons"]:
            said = where(comparison, summary["comparisons"])
            out.print(Text.assemble(("invalid", "yellow"), f" {said}: {reason}"), soft_wrap=True)
        for warning in comparison["warnings"]:
            out.print(
                Text.assemble(("warning", "yellow"), f" {where(comparison, summary['comparisons'])}: {warning}"),
                soft_wrap=True,
            )
    for line in finding_lines(summary):
        say(line, out)


@app.command()
def report(
    directory: Annotated[Path, typer.Argument(help="A result directory; it may be unfinished.")],
    as_json: Json = False,
) -> None:
    """Compute the summary of a result directory again from its raw requests, and redraw figures and page."""
    from verispec_bench.record import ResultDirectory
    from verispec_bench.report import render
    from verispec_bench.sweep import summarise

    results = ResultDirectory.open(directory)
    if results.manifest()["identity"].get("verb") == "verify":
        raise UnusableInput(f"{directory}: is no sweep; what `verispec verify` found is in {directory / 'verify.json'}")
    summary = summarise(results)
    results.write_summary(summary)
    page = render(results, summary)
    if as_json:
        out.print_json(data=summary)
    else:
        _show(summary)
        say(f"report: {page}", out)
