"""`bench`: one load run against any OpenAI-compatible server."""

from typing import Annotated

import typer

from verispec_bench.cli.app import Json, app, out, run, say
from verispec_bench.errors import InfrastructureFailed


@app.command()
def bench(
    base_url: Annotated[str, typer.Option(help="An OpenAI-compatible server, without /v1.")],
    model: Annotated[
        str | None, typer.Option(help="Served model id; default: the first that the server lists.")
    ] = None,
    workload: Annotated[str, typer.Option(help="chat, code-edit, or a JSONL file.")] = "chat",
    num_prompts: Annotated[int, typer.Option(min=1)] = 32,
    max_concurrency: Annotated[int, typer.Option(min=1)] = 4,
    output_len: Annotated[int, typer.Option(min=1, help="Most tokens of an answer.")] = 96,
    temperature: Annotated[float, typer.Option(min=0)] = 0.0,
    ignore_eos: Annotated[bool, typer.Option("--ignore-eos")] = False,
    seed: int = 0,
    timeout_s: Annotated[float, typer.Option(min=1)] = 600.0,
    as_json: Json = False,
) -> None:
    """One closed-loop load run against any OpenAI-compatible server."""
    from verispec_bench.bench import BenchLoad, run_bench
    from verispec_bench.client import Sampling

    load = BenchLoad(workload, num_prompts, max_concurrency, seed, timeout_s)
    measures = run(
        run_bench(base_url.rstrip("/"), model, load, Sampling(output_len, temperature, ignore_eos=ignore_eos))
    )
    if as_json:
        out.print_json(data=measures)
    else:
        for name, value in measures.items():
            if name == "errors":
                for error in sorted(set(value)):
                    say(f"{'error':<34} {value.count(error)} x {error}", out)
            elif not isinstance(value, list | dict):
                say(f"{name:<34} {'n/a' if value is None else f'{value:.6g}'}", out)
    if measures["completed"] == 0:
        raise InfrastructureFailed(f"{base_url}: all {measures['failed']} requests failed: {measures['errors'][0]}")
    if measures["failed"]:
        raise typer.Exit(1)
