"""What `verispec verify` samples, and the greedy answers that it compares."""

from typing import Annotated

from pydantic import Field

from verispec_bench.scenario.strict import Distinct, Strict


class SamplingParameters(Strict):
    """A sampling transformation, relative to which the arms must be exact; greedy decoding has no law to test."""

    temperature: float = Field(default=1.0, gt=0)
    top_k: int = Field(default=-1, ge=-1)
    top_p: float = Field(default=1.0, gt=0, le=1)


class Exactness(Strict):
    """The sampled test of the law: many short completions of few prompts (verispec_bench.exactness.law).

    Attributes:
        prompts: texts that are continued as they are. The target should be uncertain how they go on, and the drafter
            should find something to draft.
        sampling: sampling transformations; each is tested on its own.
        completions: of each arm under each sampling; the baseline, which serves all arms, makes twice as many.
        tokens: tokens of a completion. The first comes from the prompt's own pass and is never drafted, and nothing is
            drafted beyond the last: of short completions a smaller share is.
        max_tv: a test is closed if the upper 95% bound of the total variation distance is no larger.
        min_drafted: share of the tested tokens that must have come from steps that verified a draft.
        concurrency: completions in flight.
        timeout_s: a completion that takes longer has failed.

    """

    prompts: Annotated[list[Annotated[str, Field(min_length=1)]], Distinct] = Field(min_length=1)
    sampling: Annotated[list[SamplingParameters], Distinct] = Field(default=[SamplingParameters()], min_length=1)
    completions: int = Field(ge=100)
    tokens: int = Field(default=4, ge=2)
    max_tv: float = Field(default=0.02, gt=0, le=1)
    min_drafted: float = Field(default=0.5, gt=0, le=1)
    concurrency: int = Field(default=64, ge=1)
    timeout_s: float = Field(default=600, gt=0)


class Parity(Strict):
    """Greedy answers compared token by token (verispec_bench.exactness.parity).

    Attributes:
        prompts: how many of the corpus, its kinds in turn.
        tokens: most tokens of an answer.
        concurrency: requests in flight.
        envelope_prompts: how many of them are answered again with logprobs, to measure the numerical envelope.
        max_envelope: nats; the largest envelope that still counts as rounding.
        timeout_s: an answer that takes longer has failed.

    """

    prompts: int = Field(default=300, ge=1)
    tokens: int = Field(default=96, ge=2)
    concurrency: int = Field(default=16, ge=1)
    envelope_prompts: int = Field(default=64, ge=1)
    max_envelope: float = Field(default=0.01, gt=0)
    timeout_s: float = Field(default=600, gt=0)
