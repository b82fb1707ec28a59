"""Drafting is skipped, survived, timed and withdrawn, whichever drafter there is."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from vllm import SamplingParams

from tests.engine.processors import ForbidRepeating
from tests.plugin.engine.processors import processors_of
from verispec.control import Reason
from verispec.engine import draft_step, runtime
from verispec.settings import Settings


@pytest.fixture
def state(monkeypatch):
    monkeypatch.setattr(runtime, "_current", None)
    return runtime.start(Settings(fallback={"stall_s": 0.05}))


def runner_of(*requests, custom=()):
    names = [f"r{i}" for i in range(len(requests))]
    return SimpleNamespace(
        drafter=None,
        num_spec_tokens=3,
        input_batch=SimpleNamespace(
            req_ids=names,
            num_reqs=len(names),
            req_id_to_index={},
            num_computed_tokens_cpu=np.zeros(0, np.int32),
            num_prompt_tokens=np.zeros(0, np.int32),
            logitsprocs=processors_of([(params, []) for params in requests], *custom),
        ),
        requests={name: SimpleNamespace(sampling_params=params) for name, params in zip(names, requests, strict=True)},
    )


def step(runner, drafter, preempted=None):
    """A drafting step with a drafter that is a function of nothing."""
    adapted = draft_step.propose(lambda self, scheduler_output, sampled: drafter())
    return adapted(runner, SimpleNamespace(preempted_req_ids=preempted, **NOTHING_SCHEDULED), [])


NOTHING_SCHEDULED = {"num_scheduled_tokens": {}, "scheduled_spec_decode_tokens": {}}
PLAIN = SamplingParams()
TWO = runner_of(PLAIN, PLAIN)


def test_drafts_pass_and_are_counted(state):
    assert step(TWO, lambda: [[1, 2], []]) == [[1, 2], []]
    assert state.counters.proposed_tokens == 2
    assert state.counters.draft_seconds > 0


def test_an_exception_means_no_drafts_and_a_fallback(state):
    def boom():
        raise RuntimeError("boom")

    assert step(TWO, boom) == [[], []]
    assert state.fallback.reason is Reason.RAISED


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("no room")])
def test_running_out_of_memory_is_called_so(state, error):
    def boom():
        raise error

    step(TWO, boom)
    assert state.fallback.reason is Reason.MEMORY_PRESSURE


def test_the_first_time_may_take_longer(state):
    assert step(TWO, lambda: time.sleep(0.06) or [[1], [2]]) == [[1], [2]]
    assert state.fallback.drafting


def test_a_stall_is_found_afterwards_and_its_drafts_are_used(state):
    step(TWO, lambda: [[1], []])
    assert step(TWO, lambda: time.sleep(0.06) or [[1], [2]]) == [[1], [2]]
    assert state.fallback.reason is Reason.STALLED


def test_a_step_in_which_nothing_was_drafted_is_not_the_first_time(state):
    """A chunk of a prompt: what compiles comes later."""
    step(TWO, lambda: [[], []])
    step(TWO, lambda: time.sleep(0.06) or [[1], [2]])
    assert state.fallback.drafting


def test_a_foreign_proposers_lists_are_cut_and_counted(state):
    assert step(TWO, lambda: [[1, 2, 3, 4, 5], []]) == [[1, 2, 3], []]
    assert step(TWO, lambda: [[1]]) == [[], []]
    assert state.fallback.reason is Reason.INVALID_OUTPUT


def test_in_fallback_no_drafter_is_asked(state):
    state.fallback.switch(False)
    assert step(TWO, lambda: pytest.fail("asked")) == [[], []]
    state.fallback.switch(True)
    assert step(TWO, lambda: [[1], [2]]) == [[1], [2]]


def test_preemption_stops_drafting(state):
    assert step(TWO, lambda: [[1], [2]], preempted={"r7"}) == [[], []]
    assert state.fallback.reason is Reason.MEMORY_PRESSURE


def test_preemption_may_be_lived_with(monkeypatch):
    monkeypatch.setattr(runtime, "_current", None)
    runtime.start(Settings(fallback={"at_preemption": False}))
    assert step(TWO, lambda: [[1], [2]], preempted={"r7"}) == [[1], [2]]


def test_requests_that_opt_out_or_have_a_custom_processor_go_without_drafts(state):
    opting_out, forbidding = (
        SamplingParams(extra_args={"verispec": "off"}),
        SamplingParams(extra_args={"forbid_repeating": True}),
    )
    runner = runner_of(PLAIN, opting_out, forbidding, PLAIN, custom=(ForbidRepeating,))
    assert step(runner, lambda: [[1], [2], [3], [4]]) == [[1], [], [], [4]]
    assert step(runner, lambda: torch.tensor([[1, 5], [2, 6], [3, 7], [4, 8]])) == [[1, 5], [], [], [4, 8]]


def test_where_drafting_is_asked_for_only_those_who_ask_get_drafts(monkeypatch):
    monkeypatch.setattr(runtime, "_current", None)
    runtime.start(Settings(draft_by_default=False))
    assert step(runner_of(PLAIN, SamplingParams(extra_args={"verispec": "on"})), lambda: [[1], [2]]) == [[], [2]]


def test_drafts_of_a_model_stay_a_tensor_where_none_is_withdrawn(state):
    drafts = torch.tensor([[1, 2], [3, 4]])
    assert step(TWO, lambda: drafts) is drafts
    assert state.counters.proposed_tokens == 4


def test_under_async_scheduling_the_drafts_that_are_scheduled_come(state):
    """vLLM has given them their places before they are made."""
    state.can_skip_drafting = False
    drafts = torch.tensor([[1, 2]])
    assert step(runner_of(SamplingParams(extra_args={"verispec": "off"})), lambda: drafts) is drafts
    assert runtime.switch(False) is None
    assert runtime.status()["fallback"] is None


@pytest.mark.parametrize(("method", "fits"), [("ngram", True), ("suffix", True), ("eagle", False)])
def test_one_long_request_does_not_switch_list_drafters_off(method, fits):
    adapted = draft_step.trim_per_request(lambda self, common_attn_metadata: False)
    runner = SimpleNamespace(drafter=None, speculative_config=SimpleNamespace(method=method))
    assert adapted(runner, object()) is fits
    assert not adapted(runner, None)


def test_where_there_is_no_room_nothing_is_submitted(state):
    adapted = draft_step.submit_nothing(lambda self, scheduler_output, zeros_only: None)
    zeros = torch.zeros(2, 3)
    for zeros_only, asynchronous, submitted in ((True, False, [[], []]), (False, False, zeros), (True, True, zeros)):
        runner, state.can_skip_drafting = runner_of(PLAIN, PLAIN), not asynchronous
        runner._draft_token_ids = zeros
        adapted(runner, None, zeros_only)
        assert runner._draft_token_ids is submitted or runner._draft_token_ids == submitted
