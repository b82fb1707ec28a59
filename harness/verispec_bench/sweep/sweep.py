"""A sweep from scenario to summary: servers up, settings read back and compared, blocks run, servers down."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from verispec_bench.launch import Launch, fleet
from verispec_bench.progress import RunProgress
from verispec_bench.record import ResultDirectory, Run, build_manifest
from verispec_bench.scenario import Cell, Scenario
from verispec_bench.scenario.workloads import name_of
from verispec_bench.server import Interpreter, ServerProcess, probe_interpreter, server_command
from verispec_bench.sweep.execute import Execution
from verispec_bench.sweep.plan import Plan, lay_out
from verispec_bench.sweep.progress import run_line
from verispec_bench.sweep.run import warm_up
from verispec_bench.sweep.slo import search
from verispec_bench.sweep.summary import summarise
from verispec_bench.workload import Workload, load_workload


@dataclass(frozen=True)
class PreparedSweep:
    """Everything that can be known, and refused, before a server is started."""

    scenario: Scenario
    interpreter: Interpreter
    manifest: dict[str, Any]
    workloads: dict[str, Workload]
    plan: Plan

    @property
    def requests(self) -> int:
        """That all arms together serve at least."""
        least = self.scenario.load.blocks
        blocks = sum(len(b.attempts[0]) * len(b.arms) for b in self.plan.blocks if b.index < least)
        searches = sum(len(prompts) for planned in self.plan.searches for prompts in planned.prompts)
        return blocks + searches * len(self.scenario.all_arms)


def prepare(scenario: Scenario, base: Path) -> PreparedSweep:
    """Load prompts, probe the interpreter, build every command once.

    Args:
        base: directory that relative prompt files count from.

    Raises:
        UnusableInput, InfrastructureFailed: what cannot work is refused here, in seconds.

    """
    workloads = {name_of(spec): load_workload(spec, scenario.seed, base, scenario.model) for spec in scenario.workloads}
    planned = lay_out(scenario, workloads)
    interpreter = probe_interpreter(scenario.server.python)
    for variant in scenario.variants():
        for arm in variant.all_arms:
            server_command(variant, arm, interpreter, port=0)
    manifest = build_manifest("sweep", scenario, interpreter, workloads)
    return PreparedSweep(scenario, interpreter, manifest, workloads, planned)


def _runs_on(variant: Scenario, cell: Cell) -> bool:
    """Whether the servers of a variant are those of a cell."""
    return (cell.max_num_seqs, cell.dtype) == (variant.server.max_num_seqs, variant.server.dtype)


async def run_sweep(sweep: PreparedSweep, results: ResultDirectory, console: Console) -> dict[str, Any]:
    """Run what is missing and summarise. Whatever ends it, finished runs are kept and no server is left.

    Raises:
        InfrastructureFailed: a server failed, or the plugin is not active in it.
        UnusableInput: the servers are not a matched pair.

    """
    if results.manifest()["complete"]:
        return summarise(results)
    load = sweep.scenario.load
    deadline = time.monotonic() + 60 * load.budget_min if load.budget_min else None
    kept = bool(results.rows())
    with RunProgress(console, sweep.requests) as progress:

        def say_run(run: Run, row: dict[str, Any]) -> None:
            progress.say(run_line(run, row))

        for variant in sweep.scenario.variants():

            async def warm(server: ServerProcess, variant: Scenario = variant) -> None:
                for name, prompts in sweep.plan.warmup.items():
                    await warm_up(variant, sweep.workloads[name], prompts, server)

            async with fleet(Launch(variant, sweep.interpreter, results, progress, kept), warm) as servers:
                execution = Execution(
                    variant,
                    sweep.workloads,
                    servers,
                    results,
                    deadline,
                    say_run,
                    progress.request_done,
                    progress.expect_further,
                )
                await execution.run([block for block in sweep.plan.blocks if _runs_on(variant, block.cell)])
                for planned in sweep.plan.searches:
                    if _runs_on(variant, planned.cell):
                        await search(execution, planned)
    summary = summarise(results, complete=True)
    results.write_summary(summary)
    results.write_manifest(results.manifest() | {"complete": True})
    return summary
