"""The load of a sweep: how much is asked of the servers, at once and in all."""

from typing import Annotated

from pydantic import Field

from verispec_bench.scenario.strict import Distinct, Strict


class Load(Strict):
    """How much is asked of the servers, at once and in all.

    Attributes:
        concurrency: requests in flight, one cell for each value.
        output_len: most tokens of an answer, one cell for each value.
        temperature: one cell for each value; 0 is greedy.
        top_p, top_k: sampling parameters of all cells.
        ignore_eos: go on after the end of the answer; flatters acceptance on small models.
        min_requests: requests in a block of prompts, at least…
        requests_per_stream: …and at least this many for each request in flight.
        blocks: blocks of prompts in each cell; every block is run by all arms, in opposite orders (A B B A).
        timeout_s: a request that takes longer has failed.

    """

    concurrency: Annotated[list[Annotated[int, Field(ge=1)]], Distinct] = Field(min_length=1)
    output_len: Annotated[list[Annotated[int, Field(ge=1)]], Distinct] = Field(default=[96], min_length=1)
    temperature: Annotated[list[Annotated[float, Field(ge=0)]], Distinct] = Field(default=[0.0], min_length=1)
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=-1, ge=-1)
    ignore_eos: bool = False
    min_requests: int = Field(default=6, ge=1)
    requests_per_stream: int = Field(default=2, ge=1)
    blocks: int = Field(default=2, ge=1)
    timeout_s: float = Field(default=600, gt=0)
