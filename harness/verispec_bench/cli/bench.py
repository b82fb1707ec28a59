"""`bench`: one load run against any OpenAI-compatible server."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verispec_bench.cli.app import Json, app, checked_url, err, out, run, say
from verispec_bench.errors import InfrastructureFailed, UnusableInput
from verispec_bench.progress import RunProgress

if TYPE_CHECKING:
    from verispec_bench.bench import Bench, BenchResult

_ENDPOINTS = {
    "chat": "chat",
    "completions": "completions",
    "/v1/chat/completions": "chat",
    "/v1/completions": "completions",
}
_ARRIVALS, _SAMPLING, _CLIENT, _RESULTS = "Arrivals", "Sampling", "Client", "Results"


@app.command()
def bench(
    base_url: Annotated[str, typer.Option(help="An OpenAI-compatible server, without /v1.")],
    model: Annotated[
        str | None, typer.Option(help="Served model id; default: the first that the server lists.")
    ] = None,
    endpoint: Annotated[str, typer.Option(help="chat or completions; vLLM's paths are taken too.")] = "chat",
    no_stream: Annotated[
        bool, typer.Option("--no-stream", help="Ask for whole answers; there is no TTFT then.")
    ] = False,
    workload: Annotated[str, typer.Option(help="chat, code-edit, summarise, mixed, or a JSONL file.")] = "chat",
    num_prompts: Annotated[
        int | None, typer.Option(min=1, help="Default: 32, or one for each line of the trace.")
    ] = None,
    num_warmups: Annotated[int, typer.Option(min=0, help="Requests before the run, not measured.")] = 0,
    max_concurrency: Annotated[
        int | None,
        typer.Option(min=1, rich_help_panel=_ARRIVALS, help="Default: 4, or no limit with a rate or a trace."),
    ] = None,
    request_rate: Annotated[
        float, typer.Option(rich_help_panel=_ARRIVALS, help="Requests per second; inf: a closed loop.")
    ] = math.inf,
    burstiness: Annotated[
        float, typer.Option(rich_help_panel=_ARRIVALS, help="1: Poisson; below: bursts; inf: constant gaps.")
    ] = 1.0,
    ramp_to: Annotated[
        float | None, typer.Option(rich_help_panel=_ARRIVALS, help="Rate at the end, reached linearly in time.")
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(rich_help_panel=_ARRIVALS, help="Times and output lengths: Mooncake's .jsonl or Azure's .csv."),
    ] = None,
    trace_speed: Annotated[float, typer.Option(rich_help_panel=_ARRIVALS, help="2: in half the time.")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, rich_help_panel=_ARRIVALS, help="Of arrivals and prompts' order.")] = 0,
    output_len: Annotated[int, typer.Option(min=1, rich_help_panel=_SAMPLING, help="Most tokens of an answer.")] = 96,
    ignore_eos: Annotated[
        bool, typer.Option("--ignore-eos", rich_help_panel=_SAMPLING, help="Go on after the end of the answer.")
    ] = False,
    temperature: Annotated[float, typer.Option(min=0, rich_help_panel=_SAMPLING)] = 0.0,
    top_p: Annotated[float, typer.Option(min=0, max=1, rich_help_panel=_SAMPLING)] = 1.0,
    top_k: Annotated[int, typer.Option(min=-1, rich_help_panel=_SAMPLING)] = -1,
    client_processes: Annotated[
        str, typer.Option(rich_help_panel=_CLIENT, help="How many, or auto: as many as the streams need.")
    ] = "auto",
    timeout_s: Annotated[
        float, typer.Option(min=1, rich_help_panel=_CLIENT, help="A request that takes longer has failed.")
    ] = 600.0,
    goodput: Annotated[
        list[str] | None,
        typer.Option(rich_help_panel=_RESULTS, help='Promised latencies in ms: "ttft:200 tpot:50"; also e2el.'),
    ] = None,
    metric_percentiles: Annotated[str, typer.Option(rich_help_panel=_RESULTS)] = "50,95,99",
    result_dir: Annotated[
        Path | None, typer.Option(rich_help_panel=_RESULTS, help="Keep requests.jsonl and result.json there.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be sent; send nothing.")] = False,
    as_json: Json = False,
) -> None:
    """One load run, closed or open loop, against any OpenAI-compatible server.

    Latencies count from the time at which a request was due. Exit codes: 0; 1 if some requests failed; 3 if all did.
    """
    from verispec_bench.bench import Bench, BenchLoad
    from verispec_bench.client import Sampling
    from verispec_bench.measure import Slo

    if endpoint not in _ENDPOINTS:
        raise UnusableInput(f"--endpoint {endpoint}: is neither chat nor completions")
    load = BenchLoad(
        workload,
        num_prompts,
        max_concurrency,
        request_rate,
        ramp_to,
        burstiness,
        trace,
        trace_speed,
        num_warmups,
        seed,
        timeout_s,
    )
    asked = Bench(
        checked_url(base_url),
        load,
        Sampling(output_len, temperature, top_p, top_k, ignore_eos),
        model,
        "chat" if _ENDPOINTS[endpoint] == "chat" else "completions",
        not no_stream,
        Slo.parse(" ".join(goodput)) if goodput else None,
        _percentiles(metric_percentiles),
        "auto" if client_processes == "auto" else _processes(client_processes),
    )
    if dry_run:
        plan = load.plan(asked.sampling)
        out.print_json(data=plan) if as_json else _show(plan)
        return
    if result_dir is not None:
        if result_dir.exists() and (not result_dir.is_dir() or any(result_dir.iterdir())):
            raise UnusableInput(f"{result_dir}: is not empty; choose another --result-dir")
        result_dir.mkdir(parents=True, exist_ok=True)
    result = _run(asked)
    out.print_json(data=result.as_dict()) if as_json else _show(result.measures)
    for warning in result.warnings:
        say(f"warning: {warning}", err)
    if result_dir is not None:
        from verispec_bench.bench.run import keep

        keep(result, asked, result_dir)
    _exit(asked, result)


def _run(asked: "Bench") -> "BenchResult":
    from verispec_bench.bench import run_bench

    with RunProgress(err, 0) as progress:
        return run(run_bench(asked, progress.expect, progress.request_done))


def _show(values: dict[str, object]) -> None:
    """A line for each number; faults are counted."""
    for name, value in values.items():
        if name == "errors" and isinstance(value, list):
            for error in sorted(set(value)):
                say(f"{'error':<34} {value.count(error)} x {error}", out)
        elif not isinstance(value, list | dict):
            text = "n/a" if value is None else f"{value:.6g}" if isinstance(value, int | float) else str(value)
            say(f"{name:<34} {text}", out)


def _exit(asked: "Bench", result: "BenchResult") -> None:
    """The exit code says what the requests came to."""
    measures = result.measures
    if result.interrupted:
        raise typer.Exit(130)
    if measures["completed"] == 0:
        failed, errors = measures["failed"], measures["errors"]
        raise InfrastructureFailed(f"{asked.base_url}: all {failed} requests failed: {errors[0]}")
    if measures["failed"]:
        raise typer.Exit(1)


def _percentiles(text: str) -> tuple[float, ...]:
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = (-1.0,)
    if not all(0 < value < 100 for value in values):
        raise UnusableInput(f"--metric-percentiles {text}: is no list like 50,95,99")
    return values


def _processes(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise UnusableInput(f"--client-processes {text}: is neither a number above 0 nor auto")
    return int(text)
