"""Runs a plan on servers that are up: measures, notices contamination, measures again, keeps every run."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verispec_bench.client import Request, RequestRecord
from verispec_bench.errors import InfrastructureFailed
from verispec_bench.launch import Fleet
from verispec_bench.record import ResultDirectory, Run
from verispec_bench.scenario import Cell, Scenario
from verispec_bench.server import ServerProcess, is_gone
from verispec_bench.sweep.plan import PlannedBlock
from verispec_bench.sweep.precision import needs_more
from verispec_bench.sweep.run import as_sent, requests_of, run_block
from verispec_bench.workload import Prompt, Workload


@dataclass
class Execution:
    """The blocks of one variant of a scenario, on its servers.

    Attributes:
        scenario: the variant.
        workloads: where the prompts come from.
        servers: up, or started as they are used.
        results: what is there is not run again.
        deadline: time.monotonic() after which no cell gets further blocks; None: none.
        on_run: called with each finished run and its row.
        on_request: called with each finished request.
        on_further: called with the number of requests that a further block adds.

    """

    scenario: Scenario
    workloads: Mapping[str, Workload]
    servers: Fleet
    results: ResultDirectory
    deadline: float | None = None
    on_run: Callable[[Run, dict[str, Any]], None] = lambda run, row: None
    on_request: Callable[[], None] = lambda: None
    on_further: Callable[[int], None] = lambda requests: None

    async def run(self, blocks: Sequence[PlannedBlock]) -> None:
        """All blocks that every cell gets, then further ones for cells that are not yet known well enough."""
        least = self.scenario.load.blocks
        for block in blocks:
            if block.index < least and not is_settled(self.results, block):
                await self._block(block)
        for index in range(least, self.scenario.load.most_blocks):
            for block in blocks:
                if block.index == index and not is_settled(self.results, block) and self._is_wanted(block):
                    self.on_further(len(block.attempts[0]) * len(block.arms))
                    await self._block(block)

    def _is_wanted(self, block: PlannedBlock) -> bool:
        if _runs(self.results, block, 0):
            return True  # it was begun
        in_time = self.deadline is None or time.monotonic() < self.deadline
        return in_time and needs_more(self.results, block.cell.id, self.scenario)

    async def _block(self, block: PlannedBlock) -> None:
        """Attempts until one is clean, or none is left.

        An attempt that some arms have finished before the servers were started anew is no pair. It is made again, if
        need be with the same prompts: to these servers they are new.
        """
        attempts, attempt = list(block.attempts), 0
        while attempt < len(attempts):
            prompts = attempts[attempt]
            if self._was_interrupted(block, attempt):
                if attempt + 1 == len(attempts):
                    attempts.append(prompts)
            else:
                seed = f"{block.cell.id} {block.index} {attempt}"
                requests = await self.requests(block.cell, prompts, seed, block.arms[0])
                for position, arm in enumerate(block.arms):
                    run = Run(block.cell.id, block.index, attempt, arm)
                    await self.measure(run, block.cell, requests, {"position": position})
                if not any(row["contaminated"] for row in _runs(self.results, block, attempt)):
                    break
            attempt += 1

    def _was_interrupted(self, block: PlannedBlock, attempt: int) -> bool:
        """Some arms have served these prompts on other servers than those that are up now."""
        done = _runs(self.results, block, attempt)
        return 0 < len(done) < len(block.arms) and any(row["start"] != self.servers.start for row in done)

    async def requests(self, cell: Cell, prompts: Sequence[Prompt], seed: str, arm: str) -> list[Request]:
        """What is sent for these prompts, the same to every arm.

        Args:
            seed: of the arrivals.
            arm: whose server makes token ids of texts, where lengths count.

        """
        server, workload = await self.servers.use(arm), self.workloads[cell.workload]
        sent = await as_sent(workload, prompts, cell.input_len, server)
        return requests_of(self.scenario, cell, sent, seed)

    async def measure(
        self, run: Run, cell: Cell, requests: Sequence[Request], columns: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The row of a run: it is made unless the results hold it.

        Args:
            columns: what its row says beside.

        """
        if not self.results.has(run):
            row, records = await run_block(self.scenario, cell, requests, run.arm, self.servers, self.on_request)
            await self._check_alive(await self.servers.use(run.arm), records)
            where = {"cell": run.cell, "block": run.block, "attempt": run.attempt, "start": self.servers.start}
            row |= {**where, **columns}
            self.results.add_run(run, row, records)
            self.on_run(run, row)
        return self.results.row(run)

    async def _check_alive(self, server: ServerProcess, records: Sequence[RequestRecord]) -> None:
        """A run beside or on a dead server is no measurement: it is not kept, and the sweep ends here."""
        dead = next((other for other in self.servers.running if other.died), None)
        if dead is None and not all(record.ok for record in records) and await is_gone(server):
            dead = server
        if dead:
            raise InfrastructureFailed(f"server {dead.name} died: {dead.last_words()} (its log: {dead.log})")


def is_settled(results: ResultDirectory, block: PlannedBlock) -> bool:
    """Nothing of a block is left to do: an attempt is whole and clean, or all are whole."""
    whole = [len(rows) == len(block.arms) for rows in _attempts(results, block)]
    clean = [not any(row["contaminated"] for row in rows) for rows in _attempts(results, block)]
    done = any(w and c for w, c in zip(whole, clean, strict=True))
    return done or sum(whole) >= len(block.attempts)


def _attempts(results: ResultDirectory, block: PlannedBlock) -> list[list[dict[str, Any]]]:
    """Rows of each attempt that was begun."""
    found: list[list[dict[str, Any]]] = []
    while rows := _runs(results, block, len(found)):
        found.append(rows)
    return found


def _runs(results: ResultDirectory, block: PlannedBlock, attempt: int) -> list[dict[str, Any]]:
    runs = [Run(block.cell.id, block.index, attempt, arm) for arm in block.arms]
    return [results.row(run) for run in runs if results.has(run)]
