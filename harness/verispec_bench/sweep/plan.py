"""Which arm serves which prompts, and in which order."""

from collections.abc import Sequence
from dataclasses import dataclass

from verispec_bench.errors import UnusableInput
from verispec_bench.scenario import Cell, Scenario, cells_of
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

    Each workload's prompts are dealt in order: warm-up, then first attempts, then retries, then further blocks of cells
    that may need more (`load.max_blocks`) while any are left. Servers that are started anew have forgotten the prompts
    of the others: each variant is dealt the same.

    Raises:
        UnusableInput: a workload has fewer prompts than the first attempts need.

    """
    planned: list[PlannedBlock] = []
    warmup = {name: source[: scenario.warmup_requests] for name, source in prompts.items()}
    for variant in scenario.variants():
        decks = {name: source[scenario.warmup_requests :] for name, source in prompts.items()}
        planned += _plan_variant(variant, decks)
    return planned, warmup


def _plan_variant(scenario: Scenario, decks: dict[str, list[Prompt]]) -> list[PlannedBlock]:
    load, order = scenario.load, scenario.all_arms
    cells = cells_of(scenario)
    for name, deck in decks.items():
        sizes = [requests_per_block(scenario, cell) for cell in cells if cell.workload == name]
        needed = load.blocks * (max(sizes, default=0) if load.same_prompts else sum(sizes))
        if needed > len(deck):
            raise UnusableInput(
                f"workload {name}: the scenario needs {needed + scenario.warmup_requests} distinct prompts, it has "
                f"{len(deck) + scenario.warmup_requests}; "
                "lower load.blocks, load.min_requests or load.requests_per_stream, or give a larger file"
            )
    blocks = [
        PlannedBlock(cell, index, order if index % 2 == 0 else order[::-1], [])
        for cell in cells
        for index in range(load.most_blocks)
    ]
    first = [block for block in blocks if block.index < load.blocks]
    further = [block for block in blocks if block.index >= load.blocks]
    dealt: dict[tuple[str, int, int], Sequence[Prompt]] = {}
    for block in [*first * (1 + scenario.retries), *sorted(further, key=lambda block: block.index)]:
        size, name = requests_per_block(scenario, block.cell), block.cell.workload
        same = (name, block.index, len(block.attempts))
        if load.same_prompts and same in dealt:
            block.attempts.append(dealt[same])
        elif len(decks[name]) >= size:
            dealt[same], decks[name] = decks[name][:size], decks[name][size:]
            block.attempts.append(dealt[same])
    return [block for block in blocks if block.attempts]
