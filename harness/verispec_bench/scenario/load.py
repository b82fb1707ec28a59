"""The load of a sweep: how much is asked of the servers, at once, how fast, and in all."""

from typing import Annotated

from pydantic import Field, model_validator

from verispec_bench.scenario.strict import Distinct, Strict

MIN_BLOCKS_TO_REPEAT = 4
"""An interval of fewer is narrow by chance too often to stop there (tests/harness/stats/test_interval.py)."""


class Goodput(Strict):
    """What a request must keep to count as good (a service-level objective); latencies from the scheduled time.

    Attributes:
        ttft_ms, tpot_ms, e2el_ms: the most of each that is good; None: any.

    """

    ttft_ms: float | None = Field(default=None, gt=0)
    tpot_ms: float | None = Field(default=None, gt=0)
    e2el_ms: float | None = Field(default=None, gt=0)

    @model_validator(mode="after")
    def _limits_something(self) -> "Goodput":
        if self.ttft_ms is self.tpot_ms is self.e2el_ms is None:
            raise ValueError("needs one of ttft_ms, tpot_ms, e2el_ms")
        return self


class SloSearch(Strict):
    """The highest request rate at which an arm still meets `load.goodput`, found by bisection on the rate's logarithm.

    Attributes:
        low, high: requests per second between which it is looked for.
        share: of the requests that must be good.
        steps: bisections; each halves the ratio's logarithm.
        requests: sent at each rate.

    """

    low: float = Field(gt=0)
    high: float = Field(gt=0)
    share: float = Field(default=0.9, gt=0, le=1)
    steps: int = Field(default=5, ge=1)
    requests: int = Field(default=30, ge=1)

    @model_validator(mode="after")
    def _is_a_range(self) -> "SloSearch":
        if self.low >= self.high:
            raise ValueError("low must be below high")
        return self


class Load(Strict):
    """How much is asked of the servers, at once and in all.

    A closed loop keeps `concurrency` requests in flight; an open loop sends at `request_rate` whatever is answered.

    Attributes:
        concurrency: requests in flight, one closed-loop cell for each value.
        request_rate: requests per second, one open-loop cell for each value.
        burstiness: shape of the gamma law of the gaps: 1 is Poisson, below it bursts, far above it a constant rate.
        ramp: the rate grows (or falls) linearly over a run to this multiple; the mean stays as stated.
        trace_speed: how fast a trace is replayed, one open-loop cell for each value and workload that is a trace.
        max_concurrency: of an open loop; requests beyond it wait in the client, and their latencies say so.
        input_len: exact prompt lengths in tokens, one cell for each value and workload of that kind.
        output_len: most tokens of an answer (in the mean, where there is a spread), one cell for each value.
        output_spread: answers ask for (1 ± spread) × output_len tokens, evenly spread over each block of prompts; those
            of traces keep their lengths. Where all ask for the same, a closed loop's requests end together on the
            server that does not speculate, and there alone no prompt is read beside other requests.
        temperature: one cell for each value; 0 is greedy.
        top_p, top_k: sampling parameters of all cells.
        ignore_eos: go on after the end of the answer; flatters acceptance on small models.
        min_requests: requests in a block of prompts, at least…
        requests_per_stream: …and at least this many for each request in flight.
        same_prompts: all loads of a workload get the same prompts, so that what is accepted can be compared between
            them; servers must forget them in between (args: no-enable-prefix-caching).
        trim: share of a run's requests at its beginning, and at its end, that are served and not counted.
        blocks: blocks of prompts in each cell; every block is run by all arms, in opposite orders (A B B A).
        max_blocks: a cell whose interval is wider than `half_width` gets further blocks, up to so many.
        half_width: of the speedup's 95% interval, relative (0.05 is ±5%).
        budget_min: minutes of measuring after which no cell gets further blocks.
        goodput: when a request counts as good.
        slo_search: look for the highest rate that meets `goodput`.
        client_processes: of the load client; None: as many as it takes.
        timeout_s: a request that takes longer has failed.

    """

    concurrency: Annotated[list[Annotated[int, Field(ge=1)]], Distinct] = Field(default=[])
    request_rate: Annotated[list[Annotated[float, Field(gt=0, allow_inf_nan=False)]], Distinct] = Field(default=[])
    burstiness: float = Field(default=1.0, gt=0)
    ramp: float = Field(default=1.0, gt=0, allow_inf_nan=False)
    trace_speed: Annotated[list[Annotated[float, Field(gt=0, allow_inf_nan=False)]], Distinct] = Field(default=[1.0])
    max_concurrency: int | None = Field(default=None, ge=1)
    input_len: Annotated[list[Annotated[int, Field(ge=1)]], Distinct] = Field(default=[])
    output_len: Annotated[list[Annotated[int, Field(ge=1)]], Distinct] = Field(default=[96], min_length=1)
    output_spread: float = Field(default=0.0, ge=0, lt=1)
    temperature: Annotated[list[Annotated[float, Field(ge=0)]], Distinct] = Field(default=[0.0], min_length=1)
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=-1, ge=-1)
    ignore_eos: bool = False
    min_requests: int = Field(default=5, ge=1)
    requests_per_stream: int = Field(default=2, ge=1)
    same_prompts: bool = False
    trim: float = Field(default=0.0, ge=0, lt=0.5)
    blocks: int = Field(default=4, ge=1)
    max_blocks: int | None = Field(default=None, ge=1)
    half_width: float | None = Field(default=None, gt=0)
    budget_min: float | None = Field(default=None, gt=0)
    goodput: Goodput | None = None
    slo_search: SloSearch | None = None
    client_processes: int | None = Field(default=None, ge=1)
    timeout_s: float = Field(default=600, gt=0)

    @model_validator(mode="after")
    def _consistent(self) -> "Load":
        if self.slo_search and not self.goodput:
            raise ValueError("slo_search needs goodput: what is a request to keep?")
        if self.output_spread and self.same_prompts:
            raise ValueError("output_spread gives a prompt another length in each cell: same_prompts could not compare")
        if (self.max_blocks is None) != (self.half_width is None):
            raise ValueError("max_blocks and half_width belong together: repeat up to where, and until when?")
        if self.max_blocks is not None and self.max_blocks < self.blocks:
            raise ValueError("max_blocks is below blocks")
        if self.half_width is not None and self.blocks < MIN_BLOCKS_TO_REPEAT:
            raise ValueError(f"half_width needs at least {MIN_BLOCKS_TO_REPEAT} blocks: fewer do not know their spread")
        if self.budget_min is not None and self.half_width is None:
            raise ValueError("budget_min limits further blocks, which only half_width asks for")
        return self

    @property
    def most_blocks(self) -> int:
        """Blocks that a cell may get."""
        return self.max_blocks or self.blocks
