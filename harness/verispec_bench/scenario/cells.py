"""The cells of a scenario: every combination of server settings, workload, load and lengths."""

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from verispec_bench.scenario.schema import Scenario
from verispec_bench.scenario.workloads import Workload, needs_input_len


@dataclass(frozen=True)
class Cell:
    """The key of a cell; with an arm it identifies a measurement.

    Attributes:
        workload: name of the prompt source.
        concurrency: requests in flight; None: open loop.
        output_len: most tokens of an answer.
        temperature: 0 is greedy.
        max_num_seqs: the servers' batch limit.
        dtype: the servers'.
        input_len: fixed prompt length in tokens; None: the workload's own lengths.
        request_rate: arrivals per second; None: closed loop.

    """

    workload: str
    concurrency: int | None
    output_len: int
    temperature: float
    max_num_seqs: int
    dtype: str
    input_len: int | None = None
    request_rate: float | None = None

    @property
    def id(self) -> str:
        """Short and unique within a scenario."""
        load = f"c{self.concurrency}" if self.concurrency else f"r{self.request_rate:g}"
        lengths = [f"in{self.input_len}"] if self.input_len else []
        parts = [self.workload, load, *lengths, f"out{self.output_len}", f"t{self.temperature:g}"]
        return "/".join([*parts, f"s{self.max_num_seqs}", self.dtype])

    def key(self) -> dict[str, Any]:
        """The key's columns, as in cells.csv and summary.json."""
        return asdict(self)


def cells_of(scenario: Scenario) -> list[Cell]:
    """All cells in the order in which they are run: one start of the servers after the other, light loads first."""
    load = scenario.load
    loads: list[tuple[int | None, float | None]] = [(concurrency, None) for concurrency in load.concurrency]
    loads += [(None, rate) for rate in load.request_rate]
    return [
        Cell(
            workload=workload if isinstance(workload, str) else workload.name,
            concurrency=concurrency,
            output_len=output_len,
            temperature=temperature,
            max_num_seqs=variant.server.max_num_seqs,
            dtype=variant.server.dtype,
            input_len=input_len,
            request_rate=rate,
        )
        for variant in scenario.variants()
        for output_len, temperature, (concurrency, rate), workload in product(
            load.output_len, load.temperature, loads, scenario.workloads
        )
        for input_len in _input_lengths(scenario, workload)
    ]


def _input_lengths(scenario: Scenario, workload: Workload) -> list[int | None]:
    return list(scenario.load.input_len) if needs_input_len(workload) else [None]


def requests_per_block(scenario: Scenario, cell: Cell) -> int:
    """Requests that each arm serves in one block of a cell."""
    load = scenario.load
    streams = max(load.concurrency, default=1) if load.same_prompts else cell.concurrency or 1
    return max(load.min_requests, load.requests_per_stream * streams)
