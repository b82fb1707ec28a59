"""What was observed of one run, or of several that are looked at as one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import TypeAdapter, ValidationError

from verispec_bench.client.record import RequestRecord
from verispec_bench.errors import UnusableInput
from verispec_bench.measure.metric import MissingError
from verispec_bench.measure.slo import Slo
from verispec_bench.measure.window import ResourceWindow, ServerSample, ServerWindow

COLUMN = "observed"
"""Of cells.csv: all but the requests, as JSON."""


@dataclass(frozen=True)
class _Observed:
    server: ServerWindow
    resources: ResourceWindow
    slo: Slo | None
    ignore_eos: bool


_ADAPTER = TypeAdapter(_Observed)


@dataclass(frozen=True)
class RunData:
    """Everything that metrics are computed from. Its accessors raise MissingError for what was not observed.

    Attributes:
        runs: the requests of each run; times count from the start of their run.
        server, resources: what was seen beside.
        slo: the limits that a good request keeps.
        ignore_eos: answers were to go on to the length asked for.

    """

    runs: tuple[Sequence[RequestRecord], ...]
    server: ServerWindow = field(default_factory=ServerWindow)
    resources: ResourceWindow = field(default_factory=ResourceWindow)
    slo: Slo | None = None
    ignore_eos: bool = False

    @classmethod
    def pooled(cls, runs: Sequence["RunData"]) -> "RunData":
        """Several runs of the same load as one: requests and samples joined, durations and gains added."""
        return cls(
            runs=tuple(records for run in runs for records in run.runs),
            server=ServerWindow.pooled([run.server for run in runs]),
            resources=ResourceWindow.pooled([run.resources for run in runs]),
            slo=runs[0].slo,
            ignore_eos=runs[0].ignore_eos,
        )

    @classmethod
    def from_row(cls, row: Mapping[str, Any], records: Sequence[RequestRecord]) -> "RunData":
        """What a row of cells.csv and its requests keep of a run.

        Raises:
            UnusableInput: the column `observed` is damaged.

        """
        if row.get(COLUMN) is None:
            return cls((records,), *_from_measures(row))
        try:
            observed = _ADAPTER.validate_python(row[COLUMN])
        except ValidationError as error:
            fault = error.errors()[0]
            where = ".".join(map(str, fault["loc"]))
            raise UnusableInput(
                f"cells.csv: damaged: run {row.get('run')}: {COLUMN}: {where}: {fault['msg']}"
            ) from error
        return cls((records,), observed.server, observed.resources, observed.slo, observed.ignore_eos)

    def to_row(self) -> dict[str, Any]:
        """The column of cells.csv from which, with the requests, `from_row` makes the run again."""
        observed = _Observed(self.server, self.resources, self.slo, self.ignore_eos)
        return {COLUMN: _ADAPTER.dump_python(observed, mode="json")}

    @cached_property
    def records(self) -> list[RequestRecord]:
        """All requests."""
        return [record for records in self.runs for record in records]

    @cached_property
    def done(self) -> list[RequestRecord]:
        """The requests that completed without a fault."""
        return [record for record in self.records if record.ok]

    @property
    def duration_s(self) -> float:
        """From the start of each run to the end of its last request, failed ones included."""
        return sum(duration_s(records) for records in self.runs)

    @cached_property
    def prompt_lens(self) -> list[int]:
        """Prompt tokens of each completed request."""
        return known(record.prompt_tokens for record in self.done)

    @cached_property
    def output_lens(self) -> list[int]:
        """Output tokens of each completed request."""
        return known(record.completion_tokens for record in self.done)

    @cached_property
    def asked_lens(self) -> list[int]:
        """Output tokens that each completed request asked for."""
        return known(record.max_tokens for record in self.done)

    @property
    def prompt_tokens(self) -> int:
        """Of all completed requests."""
        return sum(self.prompt_lens)

    @property
    def output_tokens(self) -> int:
        """Of all completed requests."""
        return sum(self.output_lens)

    def per_second(self, count: float) -> float:
        """A rate over the duration; missing where nothing completed."""
        if not self.done:
            raise MissingError("completed requests")
        return count / self.duration_s

    def gain(self, counter: str) -> float:
        """What a counter of the server gained."""
        if counter not in self.server.gains:
            raise MissingError(counter)
        return self.server.gains[counter]

    def samples(self, gauge: str, steady: bool = True) -> list[float]:
        """What a gauge of the server showed, at least once; `steady`: while the load was at its plateau."""
        samples = [sample for sample in self.server.samples if sample.steady or not steady]
        values = [value for sample in samples if (value := getattr(sample, gauge)) is not None]
        if not values:
            raise MissingError(gauge)
        return values

    def resource(self, name: str) -> float:
        """What was read of the machine."""
        value: float | None = getattr(self.resources, name)
        if value is None:
            raise MissingError(name)
        return value


def duration_s(records: Sequence[RequestRecord]) -> float:
    """Of one run."""
    return max((record.end_s or 0.0 for record in records), default=0.0)


def known(counts: Iterable[int | None]) -> list[int]:
    """The counts.

    Raises:
        MissingError: one is unknown, or there is none.

    """
    given = list(counts)
    numbers = [count for count in given if count is not None]
    if not numbers or len(numbers) < len(given):
        raise MissingError("a count")
    return numbers


def _from_measures(row: Mapping[str, Any]) -> tuple[ServerWindow, ResourceWindow]:
    """Of a row that was written before the column `observed` was: its counters are columns."""
    names = ("prefix_cache_queries", "prefix_cache_hits", "preemptions", "engine_steps", "drafts", "draft_tokens")
    gains = {name: row[name] for name in (*names, "accepted_tokens", "target_only_s") if row.get(name) is not None}
    gains |= {f"fallbacks.{reason}": count for reason, count in (row.get("fallbacks") or {}).items()}
    running = row.get("running_samples") or []
    samples = tuple(ServerSample(None, None, True, running=value) for value in running)
    return ServerWindow(gains, samples), ResourceWindow(foreign_cpu=row.get("foreign_cpu"))
