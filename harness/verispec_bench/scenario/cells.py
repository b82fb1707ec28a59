"""The cells of a scenario: every combination of server settings, workload, load and lengths."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from verispec_bench.scenario.schema import Scenario
from verispec_bench.scenario.workloads import Trace, Workload, name_of, needs_input_len


@dataclass(frozen=True)
class Cell:
    """The key of a cell; with an arm it identifies a measurement.

    Attributes:
        workload: name of the prompt source.
        concurrency: requests in flight; None: open loop.
        output_len: most tokens of an answer, in the mean; None: each prompt's own, from a trace.
        temperature: 0 is greedy.
        max_num_seqs: the servers' batch limit.
        dtype: the servers'.
        input_len: fixed prompt length in tokens; None: the workload's own lengths.
        request_rate: arrivals per second; None: closed loop, or a trace.
        trace_speed: how many times as fast as recorded a trace is replayed; None: no trace.

    """

    workload: str
    concurrency: int | None
    output_len: int | None
    temperature: float
    max_num_seqs: int
    dtype: str
    input_len: int | None = None
    request_rate: float | None = None
    trace_speed: float | None = None

    @property
    def is_open(self) -> bool:
        """Requests are sent when they are due, whatever is answered."""
        return self.concurrency is None

    @property
    def id(self) -> str:
        """Short and unique within a scenario."""
        if self.concurrency is not None:
            load = f"c{self.concurrency}"
        elif self.request_rate is not None:
            load = f"r{self.request_rate:g}"
        else:
            load = "search" if self.trace_speed is None else f"x{self.trace_speed:g}"
        lengths = [f"in{self.input_len}"] if self.input_len else []
        lengths += [f"out{self.output_len}"] if self.output_len else []
        parts = [self.workload, load, *lengths, f"t{self.temperature:g}"]
        return "/".join([*parts, f"s{self.max_num_seqs}", self.dtype])

    def key(self) -> dict[str, Any]:
        """The key's columns, as in cells.csv and summary.json."""
        return asdict(self)


def cells_of(scenario: Scenario) -> list[Cell]:
    """All cells in the order in which they are run: one start of the servers after the other, light loads first."""
    load = scenario.load
    made: list[dict[str, Any]] = [{"concurrency": concurrency} for concurrency in load.concurrency]
    made += [{"concurrency": None, "request_rate": rate} for rate in load.request_rate]
    replays = [{"concurrency": None, "trace_speed": speed} for speed in load.trace_speed]
    synthetic, traces = _kinds(scenario)
    # A trace has its own arrivals and lengths, and knows no other.
    loads = [*product(load.output_len, made, synthetic), *product([None], replays, traces)]
    return [cell for variant in scenario.variants() for cell in _cells(variant, loads)]


def searched_cells(scenario: Scenario) -> list[Cell]:
    """Cells of which the highest rate within the SLO is looked for; their own rate is not yet known."""
    synthetic, _ = _kinds(scenario)
    return _cells(
        scenario, product(scenario.load.output_len if scenario.load.slo_search else (), [_UNKNOWN], synthetic)
    )


_UNKNOWN: dict[str, Any] = {"concurrency": None}


def _kinds(scenario: Scenario) -> tuple[list[Workload], list[Workload]]:
    """Workloads that can be sent at any load, and traces."""
    traces: list[Workload] = [workload for workload in scenario.workloads if isinstance(workload, Trace)]
    return [workload for workload in scenario.workloads if workload not in traces], traces


def _cells(scenario: Scenario, loads: Iterable[tuple[int | None, dict[str, Any], Workload]]) -> list[Cell]:
    """Of one variant: (output length, load, workload) with every temperature and prompt length."""
    load, server = scenario.load, scenario.server
    return [
        Cell(
            workload=name_of(workload),
            output_len=output_len,
            temperature=temperature,
            max_num_seqs=server.max_num_seqs,
            dtype=server.dtype,
            input_len=input_len,
            **how_much,
        )
        for temperature, (output_len, how_much, workload) in product(load.temperature, loads)
        for input_len in (load.input_len if needs_input_len(workload) else [None])
    ]


def requests_per_block(scenario: Scenario, cell: Cell, prompts: int = 0) -> int:
    """Requests that each arm serves in one block of a cell.

    Args:
        prompts: that the workload has, beside those of the warm-up; a trace is replayed once, in as many parts as
            there are speeds and blocks.

    """
    load = scenario.load
    if cell.trace_speed is not None:
        return max(1, prompts // (load.blocks * len(load.trace_speed)))
    streams = max(load.concurrency, default=1) if load.same_prompts else cell.concurrency or 1
    return max(load.min_requests, load.requests_per_stream * streams)
