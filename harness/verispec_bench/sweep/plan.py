"""Which arm serves which prompts, and in which order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verispec_bench.errors import UnusableInput
from verispec_bench.scenario import Cell, Scenario, cells_of
from verispec_bench.scenario.cells import requests_per_block, searched_cells
from verispec_bench.workload import Prompt, Workload


@dataclass(frozen=True)
class Plan:
    """What a sweep is going to do.

    Attributes:
        blocks: of every cell, in the order in which they are run.
        searches: for the highest rate within an SLO, after the blocks.
        warmup: prompts of each workload that are sent before anything is measured.

    """

    blocks: list["PlannedBlock"]
    searches: list["PlannedSearch"]
    warmup: Mapping[str, Sequence[Prompt]]


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


@dataclass(frozen=True)
class PlannedSearch:
    """A search for the highest rate within the SLO, the same for every arm.

    Attributes:
        cell: its rate is what is looked for.
        prompts: of each step, of the first try and of each retry.

    """

    cell: Cell
    prompts: list[list[Sequence[Prompt]]]


def lay_out(scenario: Scenario, workloads: Mapping[str, Workload]) -> Plan:
    """Lay out all runs.

    Each workload's prompts are dealt in order: warm-up, then first attempts, then searches, then retries, then further
    blocks of cells that may need more (`load.max_blocks`) while any are left. Servers that are started anew have
    forgotten the prompts of those before: each variant is dealt the same.

    Raises:
        UnusableInput: a workload has fewer prompts than first attempts and searches need.

    """
    warmup, rest = {}, {}
    for name, source in workloads.items():
        cut = len(source.prompts) - scenario.warmup_requests
        if any(prompt.at_s is not None for prompt in source.prompts):  # a trace begins with its beginning
            warmup[name], rest[name] = source.prompts[cut:], source.prompts[:cut]
        else:
            count = scenario.warmup_requests
            warmup[name], rest[name] = source.prompts[:count], source.prompts[count:]
    blocks: list[PlannedBlock] = []
    searches: list[PlannedSearch] = []
    for variant in scenario.variants():
        decks = {name: _Deck(name, prompts) for name, prompts in rest.items()}
        laid_out = _blocks(variant)
        _check_enough(variant, laid_out, decks)
        first = [block for block in laid_out if block.index < variant.load.blocks]
        further = [block for block in laid_out if block.index >= variant.load.blocks]
        _deal(variant, first, decks)
        planned = _searches(variant, decks)
        _deal(variant, first * scenario.retries, decks)
        _deal_to_searches(variant, planned, decks)
        _deal(variant, sorted(further, key=lambda block: block.index), decks)
        searches += planned
        blocks += [block for block in laid_out if block.attempts]
    return Plan(blocks, searches, warmup)


class _Deck:
    """Prompts of a workload that no run has got yet."""

    def __init__(self, name: str, prompts: Sequence[Prompt]) -> None:
        self.name = name
        self.size = len(prompts)
        self._left = prompts

    def __len__(self) -> int:
        return len(self._left)

    def deal(self, count: int) -> Sequence[Prompt]:
        dealt, self._left = self._left[:count], self._left[count:]
        return dealt


def _blocks(scenario: Scenario) -> list[PlannedBlock]:
    order = scenario.all_arms
    return [
        PlannedBlock(cell, index, order if index % 2 == 0 else order[::-1], [])
        for cell in cells_of(scenario)
        for index in range(scenario.load.most_blocks)
    ]


def _deal(scenario: Scenario, blocks: Sequence[PlannedBlock], decks: Mapping[str, _Deck]) -> None:
    """One more attempt for each block, as far as the prompts go."""
    dealt: dict[tuple[str, int, int], Sequence[Prompt]] = {}
    for block in blocks:
        deck = decks[block.cell.workload]
        size = requests_per_block(scenario, block.cell, deck.size)
        same = (deck.name, block.index, len(block.attempts))
        if not (scenario.load.same_prompts and same in dealt):
            if len(deck) < size:
                continue
            dealt[same] = deck.deal(size)
        block.attempts.append(dealt[same])


def _searches(scenario: Scenario, decks: Mapping[str, _Deck]) -> list[PlannedSearch]:
    settings = scenario.load.slo_search
    if settings is None:
        return []
    return [
        PlannedSearch(cell, [[decks[cell.workload].deal(settings.requests)] for _ in range(settings.steps)])
        for cell in searched_cells(scenario)
    ]


def _deal_to_searches(scenario: Scenario, searches: Sequence[PlannedSearch], decks: Mapping[str, _Deck]) -> None:
    """Retries of the steps of searches, as far as the prompts go."""
    for planned in searches:
        for attempts in planned.prompts * scenario.retries:
            deck = decks[planned.cell.workload]
            if len(deck) >= len(attempts[0]):
                attempts.append(deck.deal(len(attempts[0])))


def _check_enough(scenario: Scenario, blocks: Sequence[PlannedBlock], decks: Mapping[str, _Deck]) -> None:
    load = scenario.load
    searched = load.slo_search.steps * load.slo_search.requests if load.slo_search else 0
    for name, deck in decks.items():
        sizes = [
            requests_per_block(scenario, block.cell, deck.size)
            for block in blocks
            if block.cell.workload == name and block.index == 0
        ]
        needed = load.blocks * (max(sizes, default=0) if load.same_prompts else sum(sizes))
        needed += searched * sum(cell.workload == name for cell in searched_cells(scenario))
        if needed > len(deck):
            raise UnusableInput(
                f"workload {name}: the scenario needs {needed + scenario.warmup_requests} distinct prompts, it has "
                f"{len(deck) + scenario.warmup_requests}; "
                "lower load.blocks, load.min_requests or load.requests_per_stream, or give a larger file"
            )
