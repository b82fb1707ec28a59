"""Runs a plan on servers that are up: measures, notices contamination, measures again, keeps every run."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import cycle, islice
from typing import Any

from verispec_bench.client import RequestRecord, Sampling, Target, closed_loop
from verispec_bench.errors import InfrastructureFailed
from verispec_bench.measure import ResourceWatch, RunData, ServerWatch, closed_plateau, measure
from verispec_bench.record import ResultDirectory, Run
from verispec_bench.scenario import BASELINE, Cell, Scenario
from verispec_bench.server import ServerProcess, is_gone
from verispec_bench.sweep.plan import PlannedBlock
from verispec_bench.workload import Prompt

WARMUP_TOKENS = 24


async def execute(
    scenario: Scenario,
    blocks: Sequence[PlannedBlock],
    servers: Mapping[str, ServerProcess],
    results: ResultDirectory,
    start: str,
    on_run: Callable[[Run, dict[str, Any]], None] = lambda run, row: None,
    on_request: Callable[[], None] = lambda: None,
) -> None:
    """Run all blocks that the results do not hold yet.

    Args:
        start: names this start of the servers; both runs of a pair must have the same.
        on_run: called with each finished run and its row.
        on_request: called with each finished request.

    """
    for block in blocks:
        for attempt, prompts in enumerate(block.attempts):
            if _was_interrupted(block, attempt, results) and attempt + 1 < len(block.attempts):
                continue  # a pair across two starts of the servers would be no pair
            for position, arm in enumerate(block.arms):
                run = Run(block.cell.id, block.index, attempt, arm)
                if not results.has(run):
                    row, records = await _run(scenario, block.cell, prompts, arm, servers, on_request)
                    await _check_alive(servers, servers[arm], records)
                    row |= {"block": block.index, "attempt": attempt, "position": position, "start": start}
                    results.add_run(run, row, records)
                    on_run(run, row)
            runs = [results.row(Run(block.cell.id, block.index, attempt, arm)) for arm in block.arms]
            if not any(row["contaminated"] for row in runs):
                break


def _was_interrupted(block: PlannedBlock, attempt: int, results: ResultDirectory) -> bool:
    """Some arms have served these prompts, and not all."""
    done = [results.has(Run(block.cell.id, block.index, attempt, arm)) for arm in block.arms]
    return any(done) and not all(done)


async def _check_alive(
    servers: Mapping[str, ServerProcess], server: ServerProcess, records: Sequence[RequestRecord]
) -> None:
    """A run beside or on a dead server is no measurement: it is not kept, and the sweep ends here."""
    dead = next((other for other in servers.values() if other.died), None)
    if dead is None and not all(record.ok for record in records) and await is_gone(server):
        dead = server
    if dead:
        raise InfrastructureFailed(f"server {dead.name} died: {dead.last_words()} (its log: {dead.log})")


async def warm_up(scenario: Scenario, prompts: Sequence[Prompt], server: ServerProcess) -> None:
    """Let a server compile and allocate, one request at a time and then at the largest load; nothing is kept.

    Raises:
        InfrastructureFailed: it answers no request.

    """
    if not prompts:
        return
    target, widest = Target(server.base_url, server.command.model), max(scenario.load.concurrency)
    for concurrency, sent in ((1, prompts[:2]), (widest, list(islice(cycle(prompts), widest)))):
        records = await closed_loop(
            target, sent, Sampling(WARMUP_TOKENS), concurrency=concurrency, timeout_s=scenario.load.timeout_s
        )
        if not any(record.ok for record in records):
            raise InfrastructureFailed(f"server {server.name} answers no request: {records[0].error}")


async def _run(
    scenario: Scenario,
    cell: Cell,
    prompts: Sequence[Prompt],
    arm: str,
    servers: Mapping[str, ServerProcess],
    on_request: Callable[[], None],
) -> tuple[dict[str, Any], list[RequestRecord]]:
    server = servers[arm]
    sampling = Sampling(
        cell.output_len, cell.temperature, scenario.load.top_p, scenario.load.top_k, scenario.load.ignore_eos
    )
    in_flight = 0

    def count(now: int) -> None:
        nonlocal in_flight
        in_flight = now

    started = datetime.now(UTC).isoformat(timespec="seconds")
    beside = [other.pid for other in servers.values() if other is not server]
    async with (
        ServerWatch(server.base_url, lambda: in_flight) as watch,
        ResourceWatch(server.pid, beside) as resources,
    ):
        records = await closed_loop(
            Target(server.base_url, server.command.model),
            prompts,
            sampling,
            concurrency=cell.concurrency,
            timeout_s=scenario.load.timeout_s,
            on_done=lambda record: on_request(),
            on_in_flight=count,
        )
    spec = scenario.arms.get(arm)
    steady = closed_plateau(min(cell.concurrency, len(prompts)))
    data = RunData((records,), watch.window(steady), resources.window(), ignore_eos=sampling.ignore_eos)
    measures = measure(data)
    row = {
        **cell.key(),
        "cell": cell.id,
        "arm": arm,
        "num_speculative_tokens": spec.num_speculative_tokens if spec else 0,
        "started": started,
        **measures,
        **data.to_row(),
        "contaminated": measures["foreign_cpu"] > scenario.max_foreign_cpu,
        "is_baseline": arm == BASELINE,
    }
    return row, records
