"""Where the time of a step goes: the target's pass, the rule, drafting, and what is left. On GPUs: launching them."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from verispec.engine import runtime
from verispec.engine.counters import Counters


def forward(original: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt GPUModelRunner.execute_model."""

    def execute_model(self: Any, scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        started = perf_counter()
        output = original(self, scheduler_output, *args, **kwargs)
        _count_pass(runtime.current().counters, scheduler_output, perf_counter() - started)
        return output

    return execute_model


def _count_pass(counters: Counters, scheduler_output: Any, seconds: float) -> None:
    """A request that decodes has one token beside its drafts: what is scheduled beyond that is of prompts."""
    drafts = sum(map(len, scheduler_output.scheduled_spec_decode_tokens.values()))
    tokens = scheduler_output.total_num_scheduled_tokens
    if tokens > len(scheduler_output.num_scheduled_tokens) + drafts:
        counters.prompt_passes += 1
        counters.prompt_seconds += seconds
    elif drafts:
        counters.verify_passes += 1
        counters.verify_seconds += seconds
    elif tokens:
        counters.decode_passes += 1
        counters.decode_seconds += seconds


def after_forward(original: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt GPUModelRunner.sample_tokens, in which rule and drafter are timed by themselves."""

    def sample_tokens(self: Any, grammar_output: Any) -> Any:
        counters = runtime.current().counters
        started, timed = perf_counter(), counters.rule_seconds + counters.draft_seconds
        output = original(self, grammar_output)
        within = counters.rule_seconds + counters.draft_seconds - timed
        counters.overhead_seconds += perf_counter() - started - within
        return output

    return sample_tokens
