"""What a step did, and how long it took."""

from types import SimpleNamespace

import numpy as np
import pytest

from verispec.control import Batch, Step
from verispec.engine import step_watch
from verispec.engine.step_watch import StepWatch

RUNNER = SimpleNamespace(
    input_batch=SimpleNamespace(
        req_id_to_index={"a": 0, "b": 1, "c": 2},
        num_computed_tokens_cpu=np.array([100, 50, 900], np.int32),
        num_prompt_tokens=np.array([90, 40, 1000], np.int32),
    )
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
    assert watch.step == Step(Batch(requests=2, kv_tokens=150), drafts=3, seconds=1.0)


def test_a_step_that_also_reads_a_prompt_says_how_much(watch):
    watch.step_ended(RUNNER, scheduled(a=30, b=20))
    watch.step_ended(RUNNER, scheduled({"a": [1, 2]}, a=3, b=1, c=60))
    assert watch.step == Step(Batch(requests=2, kv_tokens=150, prompt_tokens=60), drafts=2, seconds=1.0)
    assert watch.unread_tokens == 40


@pytest.mark.parametrize("output", [scheduled(c=100), scheduled(a=20, b=20), scheduled()])
def test_steps_in_which_nothing_is_decoded_have_no_cost(watch, output):
    watch.step_ended(RUNNER, scheduled(a=30, b=20))
    watch.step_ended(RUNNER, output)
    assert watch.step is None
    assert watch.unread_tokens == 0


def test_an_idle_engine_is_no_slow_step(watch):
    watch.step_ended(RUNNER, scheduled(a=1))
    watch.step_ended(RUNNER, scheduled(b=1))
    assert watch.step is None
