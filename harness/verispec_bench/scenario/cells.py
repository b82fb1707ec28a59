"""The cells of a scenario: every combination of workload and load."""

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from verispec_bench.scenario.schema import Scenario


@dataclass(frozen=True)
class Cell:
    """The key of a cell; with an arm it identifies a measurement.

    Attributes:
        workload: name of the prompt source.
        concurrency: requests in flight.
        output_len: most tokens of an answer.
        temperature: 0 is greedy.
        max_num_seqs: the servers' batch limit.
        input_len: fixed prompt length in tokens; None: the workload's own lengths.
        request_rate: arrivals per second; None: closed loop.

    """

    workload: str
    concurrency: int
    output_len: int
    temperature: float
    max_num_seqs: int
    input_len: int | None = None
    request_rate: float | None = None

    @property
    def id(self) -> str:
        """Short and unique within a scenario."""
        return f"{self.workload}/c{self.concurrency}/out{self.output_len}/t{self.temperature:g}"

    def key(self) -> dict[str, Any]:
        """The key's columns, as in cells.csv and summary.json."""
        return asdict(self)


def cells_of(scenario: Scenario) -> list[Cell]:
    """All cells in the order in which they are run: workloads in turn within each load, light loads first."""
    load = scenario.load
    return [
        Cell(
            workload=workload if isinstance(workload, str) else workload.name,
            concurrency=concurrency,
            output_len=output_len,
            temperature=temperature,
            max_num_seqs=scenario.server.max_num_seqs,
        )
        for output_len, temperature, concurrency, workload in product(
            load.output_len, load.temperature, load.concurrency, scenario.workloads
        )
    ]


def requests_per_block(scenario: Scenario, cell: Cell) -> int:
    """Requests that each arm serves in one block of a cell."""
    return max(scenario.load.min_requests, scenario.load.requests_per_stream * cell.concurrency)
