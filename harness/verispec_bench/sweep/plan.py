"""Which arm serves which prompts, and in which order."""

from collections.abc import Sequence
from dataclasses import dataclass

from verispec_bench.errors import UnusableInput
from verispec_bench.scenario import BASELINE, Cell, Scenario, cells_of
from verispec_bench.scenario.cells import requests_per_block
from verispec_bench.workload import Prompt


@dataclass(frozen=True)
class PlannedBlock:
    """One block of prompts in one cell, run by all arms one after the other.

    Attributes:
        cell: where it belongs.
        index: 0, 1, … within the cell.
        arms: in the order in which they run; the next block has the opposite order.
        attempts: the prompts of the first try and of each retry; no prompt of the scenario stands twice.

    """

    cell: Cell
    index: int
    arms: list[str]
    attempts: list[Sequence[Prompt]]


def plan_blocks(
    scenario: Scenario, prompts: dict[str, list[Prompt]]
) -> tuple[list[PlannedBlock], dict[str, list[Prompt]]]:
    """Lay out all blocks and the warm-up prompts of each workload.

    Each workload's prompts are dealt in order: warm-up, then first attempts, then retries while any are left.

    Raises:
        UnusableInput: a workload has fewer prompts than the first attempts need.

    """
    cells = cells_of(scenario)
    order = [BASELINE, *scenario.arms]
    warmup: dict[str, list[Prompt]] = {}
    decks: dict[str, list[Prompt]] = {}
    for name, source in prompts.items():
        needed = scenario.load.blocks * sum(requests_per_block(scenario, c) for c in cells if c.workload == name)
        needed += scenario.warmup_requests
        if needed > len(source):
            raise UnusableInput(
                f"workload {name}: the scenario needs {needed} distinct prompts, it has {len(source)}; "
                "lower load.blocks, load.min_requests or load.requests_per_stream, or give a larger file"
            )
        warmup[name] = source[: scenario.warmup_requests]
        decks[name] = source[scenario.warmup_requests :]
    blocks = [
        PlannedBlock(cell, index, order if index % 2 == 0 else order[::-1], [])
        for cell in cells
        for index in range(scenario.load.blocks)
    ]
    for _attempt in range(1 + scenario.retries):
        for block in blocks:
            size = requests_per_block(scenario, block.cell)
            deck = decks[block.cell.workload]
            if len(deck) >= size:
                block.attempts.append(deck[:size])
                decks[block.cell.workload] = deck[size:]
    return blocks, warmup
