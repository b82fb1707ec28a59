"""A sweep from scenario to summary: servers up, settings read back and compared, blocks run, servers down."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from verispec_bench.launch import Launch, fleet
from verispec_bench.progress import RunProgress
from verispec_bench.record import ResultDirectory, Run, build_manifest
from verispec_bench.scenario import Scenario
from verispec_bench.server import Interpreter, ServerProcess, probe_interpreter, server_command
from verispec_bench.sweep.execute import Execution
from verispec_bench.sweep.plan import PlannedBlock, plan_blocks
from verispec_bench.sweep.progress import run_line
from verispec_bench.sweep.run import warm_up
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

    def blocks_of(self, variant: Scenario) -> list[PlannedBlock]:
        """Those that run on the servers of one combination of axes."""
        server = variant.server
        return [
            block
            for block in self.blocks
            if (block.cell.max_num_seqs, block.cell.dtype) == (server.max_num_seqs, server.dtype)
        ]

    @property
    def requests(self) -> int:
        """That all arms together serve at least."""
        least = self.scenario.load.blocks
        return sum(len(block.attempts[0]) * len(block.arms) for block in self.blocks if block.index < least)


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
    for variant in scenario.variants():
        for arm in variant.all_arms:
            server_command(variant, arm, interpreter, port=0)
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
    load = sweep.scenario.load
    deadline = time.monotonic() + 60 * load.budget_min if load.budget_min else None
    kept = bool(results.rows())
    with RunProgress(console, sweep.requests) as progress:

        def say_run(run: Run, row: dict[str, Any]) -> None:
            progress.say(run_line(run, row))

        for variant in sweep.scenario.variants():

            async def warm(server: ServerProcess, variant: Scenario = variant) -> None:
                for prompts in sweep.warmup.values():
                    await warm_up(variant, prompts, server)

            blocks = sweep.blocks_of(variant)
            async with fleet(Launch(variant, sweep.interpreter, results, progress, kept), warm) as servers:
                await Execution(
                    variant, servers, results, deadline, say_run, progress.request_done, progress.expect_further
                ).run(blocks)
    summary = summarise(results, complete=True)
    results.write_summary(summary)
    results.write_manifest(results.manifest() | {"complete": True})
    return summary
