"""A sweep from scenario to summary: servers up, settings read back and compared, blocks run, servers down."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from verispec_bench.launch import launched
from verispec_bench.progress import RunProgress
from verispec_bench.record import ResultDirectory, Run, build_manifest
from verispec_bench.scenario import BASELINE, Scenario
from verispec_bench.server import Interpreter, probe_interpreter, server_command
from verispec_bench.sweep.execute import execute, warm_up
from verispec_bench.sweep.plan import PlannedBlock, plan_blocks
from verispec_bench.sweep.progress import run_line
from verispec_bench.sweep.summary import summarise
from verispec_bench.workload import Prompt, load_prompts


@dataclass(frozen=True)
class PreparedSweep:
    """Everything that can be known, and refused, before a server is started."""

    scenario: Scenario
    interpreter: Interpreter
    manifest: dict[str, Any]
    blocks: list[PlannedBlock]
    warmup: dict[str, list[Prompt]]


def prepare(scenario: Scenario, base: Path) -> PreparedSweep:
    """Load prompts, probe the interpreter, build every command once.

    Args:
        base: directory that relative prompt files count from.

    Raises:
        UnusableInput, InfrastructureFailed: what cannot work is refused here, in seconds.

    """
    prompts = {
        workload if isinstance(workload, str) else workload.name: load_prompts(workload, scenario.seed, base)
        for workload in scenario.workloads
    }
    blocks, warmup = plan_blocks(scenario, prompts)
    interpreter = probe_interpreter(scenario.server.python)
    for arm in (BASELINE, *scenario.arms):
        server_command(scenario, arm, interpreter, port=0)
    manifest = build_manifest("sweep", scenario, interpreter, prompts)
    return PreparedSweep(scenario, interpreter, manifest, blocks, warmup)


async def run_sweep(sweep: PreparedSweep, results: ResultDirectory, console: Console) -> dict[str, Any]:
    """Run what is missing and summarise. Whatever ends it, finished runs are kept and no server is left.

    Raises:
        InfrastructureFailed: a server failed, or the plugin is not active in it.
        UnusableInput: the servers are not a matched pair.

    """
    if results.manifest()["complete"]:
        return summarise(results)
    scenario = sweep.scenario
    total = sum(len(block.attempts[0]) * len(block.arms) for block in sweep.blocks)

    def say_run(run: Run, row: dict[str, Any]) -> None:
        progress.say(run_line(run, row))

    with RunProgress(console, total) as progress:
        kept = bool(results.rows())
        async with launched(scenario, sweep.interpreter, results, progress, kept=kept) as servers:
            for arm, server in servers.items():
                progress.label(f"warming up {arm}")
                for prompts in sweep.warmup.values():
                    await warm_up(scenario, prompts, server)
            progress.label("measuring")
            start = datetime.now(UTC).isoformat(timespec="seconds")
            await execute(scenario, sweep.blocks, servers, results, start, say_run, progress.request_done)
    summary = summarise(results, complete=True)
    results.write_summary(summary)
    results.write_manifest(results.manifest() | {"complete": True})
    return summary
