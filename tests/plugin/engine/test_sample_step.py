"""Draft-free steps are ordinary ones; a request whose logits are not numbers ends, and no other does."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from tests.plugin.engine.processors import no_processors
from verispec.engine import runtime
from verispec.engine.sample_step import report_failed, rows_without_law, sample_step
from verispec.settings import Settings


@pytest.fixture
def state(monkeypatch):
    monkeypatch.setattr(runtime, "_current", None)
    return runtime.start(Settings())


def runner(discarded=None):
    batch = SimpleNamespace(generators={}, num_reqs=2, logitsprocs=no_processors(), req_ids=["a", "b"])
    return SimpleNamespace(
        input_batch=batch, discard_request_mask=SimpleNamespace(np=np.array([discarded == "a", discarded == "b"]))
    )


@pytest.mark.parametrize(("num_drafts", "kept"), [([0, 0], False), ([3, 1], True)])
def test_a_step_without_drafts_is_sampled_as_an_ordinary_one(state, num_drafts, kept):
    sample = sample_step(lambda self, logits, spec_decode_metadata: spec_decode_metadata)
    metadata = SimpleNamespace(max_spec_len=max(num_drafts), num_draft_tokens=num_drafts)
    assert (sample(runner(), None, metadata) is metadata) is kept
    assert sample(runner(), None, None) is None


def test_nan_logits_fail_the_request_that_has_them(state):
    logits = torch.zeros(6, 4)
    logits[5, 2] = torch.nan
    sample = sample_step(lambda self, logits, spec_decode_metadata: "sampled")
    metadata = SimpleNamespace(max_spec_len=3, num_draft_tokens=[3, 1])
    assert sample(runner(), logits, metadata) == "sampled"
    assert state.failed == {"b"}
    assert state.counters.failed_rows == 1


def test_nan_logits_of_a_prompt_that_is_not_complete_fail_nobody(state):
    logits = torch.full((2, 4), torch.nan)
    sample_step(lambda self, logits, spec_decode_metadata: None)(runner(discarded="a"), logits, None)
    assert state.failed == {"b"}


def test_the_scheduler_is_told_of_failed_requests_once(state):
    state.failed.add("b")
    bookkeeping = report_failed(lambda self: ({"a": 7}, "tokens"))  # by vLLM's count of rows, which are not requests
    assert bookkeeping(None) == ({"b": 1}, "tokens")
    assert bookkeeping(None) == ({}, "tokens")


def test_rows_are_those_of_the_requests_drafts_and_of_the_token_after_them():
    for position, row in enumerate([0, 0, 0, 1, 2, 2]):
        logits = torch.zeros(6, 4)
        logits[position, 1] = torch.nan
        assert rows_without_law(logits, [2, 0, 1]) == [row]


def test_masked_tokens_are_no_fault():
    logits = torch.full((2, 4), -torch.inf)
    assert rows_without_law(logits, [0, 0]) == []
