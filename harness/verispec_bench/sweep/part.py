"""A part of a sweep on one machine: its servers up, its blocks and searches run, servers down."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verispec_bench.launch import Launch, fleet
from verispec_bench.progress import RunProgress
from verispec_bench.record import ResultDirectory, Run, build_manifest
from verispec_bench.scenario import Cell, Scenario
from verispec_bench.scenario.workloads import name_of
from verispec_bench.server import Interpreter, ServerProcess, probe_interpreter, server_command
from verispec_bench.sweep.execute import Execution, is_settled
from verispec_bench.sweep.plan import Plan, PlannedBlock, PlannedSearch, lay_out
from verispec_bench.sweep.precision import needs_more
from verispec_bench.sweep.run import warm_up
from verispec_bench.sweep.slo import probes_made, search
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
        searches = sum(len(attempts[0]) for planned in self.plan.searches for attempts in planned.prompts)
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


def any_left(
    variant: Scenario, results: ResultDirectory, blocks: Sequence[PlannedBlock], searches: Sequence[PlannedSearch]
) -> bool:
    """Whether servers have to be started at all."""
    open_blocks = [block for block in blocks if not is_settled(results, block)]
    if any(block.index < variant.load.blocks for block in open_blocks):
        return True
    if any(needs_more(results, block.cell.id, variant) for block in open_blocks):
        return True
    steps = variant.load.slo_search.steps if variant.load.slo_search else 0
    return any(probes_made(results, planned, arm) < steps for planned in searches for arm in variant.all_arms)


async def run_part(
    sweep: PreparedSweep,
    results: ResultDirectory,
    progress: RunProgress,
    cells: Collection[str] | None = None,
    on_run: Callable[[Run, dict[str, Any]], None] = lambda run, row: None,
) -> None:
    """Run what the results do not hold yet. Whatever ends it, finished runs are kept and no server is left.

    Args:
        cells: ids of those that belong to this part; None: all.
        on_run: called with each finished run and its row.

    Raises:
        InfrastructureFailed: a server failed, or the plugin is not active in it.
        UnusableInput: the servers are not a matched pair.

    """
    load = sweep.scenario.load
    deadline = time.monotonic() + 60 * load.budget_min if load.budget_min else None
    kept = bool(results.rows())

    def is_here(variant: Scenario, cell: Cell) -> bool:
        server = variant.server
        runs_on = (cell.max_num_seqs, cell.dtype) == (server.max_num_seqs, server.dtype)
        return runs_on and (cells is None or cell.id in cells)

    for variant in sweep.scenario.variants():
        blocks = [block for block in sweep.plan.blocks if is_here(variant, block.cell)]
        searches = [planned for planned in sweep.plan.searches if is_here(variant, planned.cell)]
        if not any_left(variant, results, blocks, searches):
            continue

        async def warm(server: ServerProcess, variant: Scenario = variant) -> None:
            for name, prompts in sweep.plan.warmup.items():
                await warm_up(variant, sweep.workloads[name], prompts, server)

        launch = Launch(variant, sweep.interpreter, results, progress, kept)
        async with fleet(launch, warm) as servers:
            execution = Execution(
                variant,
                sweep.workloads,
                servers,
                results,
                deadline,
                on_run,
                progress.request_done,
                progress.expect_further,
            )
            await execution.run(blocks)
            for planned in searches:
                await search(execution, planned)
            for server in servers.running:
                await launch.keep_costs(server)
