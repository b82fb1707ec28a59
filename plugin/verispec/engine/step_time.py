"""Where the time of a step goes: the target's pass, the rule, drafting, and what is left. On GPUs: launching them."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from verispec.engine import runtime


def forward(original: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt GPUModelRunner.execute_model."""

    def execute_model(self: Any, scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        started = perf_counter()
        output = original(self, scheduler_output, *args, **kwargs)
        counters, seconds = runtime.current().counters, perf_counter() - started
        if scheduler_output.scheduled_spec_decode_tokens:
            counters.verify_seconds += seconds
        elif scheduler_output.total_num_scheduled_tokens:
            counters.decode_seconds += seconds
        return output

    return execute_model


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
