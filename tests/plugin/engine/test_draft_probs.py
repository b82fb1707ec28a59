"""A q is used while it may be the law of its drafts; one that cannot be ends drafting."""

from types import SimpleNamespace

import pytest
import torch

from verispec.control import Reason
from verispec.engine import draft_probs, runtime
from verispec.engine.draft_probs import broken_law, line_up_draft_probs
from verispec.settings import Settings

Q = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])


def test_a_law_of_its_drafts_passes():
    for round_number in range(4):
        assert broken_law(Q, torch.tensor([0, 2]), None, round_number) is None


def test_a_draft_that_its_law_excludes_is_found():
    assert "probability 0" in broken_law(Q, torch.tensor([2, 2]), None, 0)


@pytest.mark.parametrize("total", [0.9, 1.1, float("nan")])
def test_a_row_that_does_not_sum_to_one_is_found_in_its_turn(total):
    broken = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.3, total - 0.5]])
    found = [broken_law(broken, torch.tensor([0, 1]), None, round_number) for round_number in range(2)]
    assert found[0] is None
    assert found[1].startswith("a row of draft probabilities sums to")


def test_rows_of_point_masses_and_of_padding_are_not_looked_at():
    nothing = torch.zeros(2, 3)
    assert broken_law(nothing, torch.tensor([0, 1]), torch.tensor([True, True]), 0) is None
    assert broken_law(nothing, torch.tensor([-1, 3]), None, 0) is None


def round_of(q, drafts, monkeypatch):
    """What a round of vLLM's own drafter is verified against."""
    monkeypatch.setattr(runtime, "_current", None)
    state = runtime.start(Settings())
    free = SimpleNamespace(sampling_params=SimpleNamespace(structured_outputs=None))
    runner = SimpleNamespace(
        drafter=None, input_batch=SimpleNamespace(req_ids=["a"]), requests={"a": free}, speculative_config=None
    )
    metadata = SimpleNamespace(num_draft_tokens=[len(drafts)], draft_token_ids=torch.tensor(drafts))
    return state, line_up_draft_probs(lambda self, metadata: q)(runner, metadata)


def test_a_broken_law_makes_its_round_one_of_point_masses_and_ends_drafting(monkeypatch):
    state, used = round_of(Q, [2, 2], monkeypatch)
    assert used is None
    assert state.verifier._expected == (None, None)
    assert state.fallback.reason is Reason.RULE_CHECK


def test_a_good_law_is_used(monkeypatch):
    state, used = round_of(Q, [0, 2], monkeypatch)
    assert used is Q
    assert state.fallback.drafting


def test_drafts_of_vllms_drafters_are_point_masses_under_a_grammar():
    grammar, free = (
        SimpleNamespace(sampling_params=SimpleNamespace(structured_outputs=value)) for value in ({"regex": "a"}, None)
    )
    runner = SimpleNamespace(
        input_batch=SimpleNamespace(req_ids=["a", "b", "c"]), requests={"a": free, "b": grammar, "c": free}
    )
    metadata = SimpleNamespace(num_draft_tokens=[1, 2, 0], draft_token_ids=torch.tensor([1, 2, 3]))
    assert draft_probs._rows_under_grammar(runner, metadata).tolist() == [False, True, True]
