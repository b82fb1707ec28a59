"""Only the time of decoding steps is a step's cost."""

from types import SimpleNamespace

import numpy as np
import pytest

from verispec.engine import step_watch
from verispec.engine.step_watch import StepWatch

RUNNER = SimpleNamespace(
    input_batch=SimpleNamespace(num_reqs=2, num_computed_tokens_cpu=np.array([100, 50, 999], np.int32))
)


def scheduled(drafts=None, **tokens):
    return SimpleNamespace(
        num_scheduled_tokens=tokens,
        scheduled_spec_decode_tokens=drafts or {},
        total_num_scheduled_tokens=sum(tokens.values()),
    )


@pytest.fixture
def watch(monkeypatch):
    """Its clock goes on by a second at each step."""
    ticks = iter(range(1000))
    monkeypatch.setattr(step_watch, "perf_counter", lambda: float(next(ticks)))
    return StepWatch()


def test_a_step_is_measured_from_the_end_of_the_one_before(watch):
    watch.step_ended(RUNNER, scheduled(a=30, b=20))
    assert watch.step is None  # prompts
    watch.step_ended(RUNNER, scheduled({"a": [1, 2, 3]}, a=4, b=1))
    step = watch.step
    assert (step.tokens, step.requests, step.kv_tokens, step.seconds) == (5, 2, 150, 1.0)


@pytest.mark.parametrize(
    "output",
    [scheduled(a=1, b=1, c=1), scheduled(a=1, b=20), scheduled()],
    ids=["a request that was not running", "part of a prompt", "nothing"],
)
def test_other_steps_have_no_cost(watch, output):
    watch.step_ended(RUNNER, scheduled(a=30, b=20))
    watch.step_ended(RUNNER, output)
    assert watch.step is None


def test_an_idle_engine_is_no_slow_step(watch):
    watch.step_ended(RUNNER, scheduled(a=1))
    watch.step_ended(RUNNER, scheduled(b=1))
    assert watch.step is None
