"""What reaches the engine is always usable, whatever the drafter answers."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from vllm import SamplingParams

from tests.engine.processors import ForbidRepeating
from tests.plugin.engine.processors import no_processors, processors_of
from verispec.control import Reason
from verispec.drafting import DrafterError, Proposal, SparseLaw
from verispec.engine import runtime
from verispec.engine.proposer import Proposer
from verispec.settings import Settings

ANSWER: dict = {}


class Scripted:
    """A drafter that answers what the test put into ANSWER."""

    def __init__(self):
        self.asked, self.forgotten = [], []

    def propose(self, requests):
        self.asked.append([(r.request_id, r.token_ids.tolist(), r.max_tokens, r.temperature) for r in requests])
        answer = ANSWER["propose"]
        return answer(requests) if callable(answer) else answer

    def forget(self, request_ids):
        self.forgotten += sorted(request_ids)


def request(grammar=None, temperature=0.0, max_tokens=None):
    return SimpleNamespace(
        sampling_params=SimpleNamespace(
            structured_outputs=grammar, temperature=temperature, seed=None, max_tokens=max_tokens
        )
    )


def batch_of(*req_ids):
    return SimpleNamespace(
        req_ids=list(req_ids), num_reqs=len(req_ids), num_prompt_tokens=[2] * len(req_ids), logitsprocs=no_processors()
    )


@pytest.fixture
def proposer(monkeypatch):
    return proposer_of(monkeypatch, "Scripted")


def proposer_of(monkeypatch, drafter):
    monkeypatch.setattr(runtime, "_current", None)
    runtime.start(Settings(drafter=f"{__name__}.{drafter}", control={"mode": "fixed"}))
    config = SimpleNamespace(
        speculative_config=SimpleNamespace(num_speculative_tokens=3),
        scheduler_config=SimpleNamespace(max_num_batched_tokens=64),
        model_config=SimpleNamespace(max_model_len=16, get_vocab_size=lambda: 10),
    )
    made = Proposer(config)
    made.bind(SimpleNamespace(input_batch=batch_of("a", "b"), requests={"a": request(), "b": request()}))
    return made


def propose(proposer, sampled=((1,), (2,)), lengths=(4, 5)):
    tokens = np.tile(np.arange(16, dtype=np.int32), (len(sampled), 1))
    return proposer.propose([list(s) for s in sampled], np.array(lengths), tokens)


def counters():
    return runtime.current().counters


def fallback():
    return runtime.current().fallback


def sent_for(request_id, drafts):
    return runtime.current().q_channel.receive([request_id], [len(drafts)], torch.tensor(drafts), 10)[0]


def test_histories_and_room_reach_the_drafter(proposer):
    ANSWER["propose"] = [Proposal([7]), Proposal()]
    assert propose(proposer) == [[7], []]
    assert proposer._drafter.asked == [[("a", [0, 1, 2, 3], 3, 0.0), ("b", [0, 1, 2, 3, 4], 3, 0.0)]]


def test_what_comes_is_held_against_what_was_drafted(proposer):
    ANSWER["propose"] = [Proposal([7]), Proposal()]
    propose(proposer)
    propose(proposer, sampled=((7,), (2,)), lengths=(5, 6))
    reliability = runtime.current().controller.estimates.reliability
    assert (reliability.drafts.sum(), reliability.right.sum()) == (1, 1)


def test_prompts_that_are_not_complete_get_no_draft(proposer):
    ANSWER["propose"] = [Proposal([7])]
    assert propose(proposer, sampled=((), (2,))) == [[], [7]]
    assert [r[0] for r in proposer._drafter.asked[0]] == ["b"]


@pytest.mark.parametrize(("length", "room"), [(6, 3), (7, 2), (8, 1), (9, None)])
def test_nothing_is_drafted_that_the_answer_has_no_room_for(proposer, length, room):
    """A prompt of 2 tokens and 8 to answer: the target adds one to what is kept of the drafts."""
    proposer._runner.requests["a"] = request(max_tokens=8)
    ANSWER["propose"] = lambda requests: [Proposal([1, 1, 1])] * len(requests)
    first, second = propose(proposer, lengths=(length, 4))
    assert len(first) == (room or 0)
    assert second == [1, 1, 1]


@pytest.mark.parametrize(("length", "room"), [(12, 3), (13, 2), (14, 1), (15, None), (16, None)])
def test_one_long_request_is_trimmed_by_itself(proposer, length, room):
    """max_model_len 16: room is left for the drafts and the token that follows them."""
    ANSWER["propose"] = lambda requests: [Proposal([1, 1, 1])] * len(requests)
    first, second = propose(proposer, lengths=(length, 4))
    assert len(first) == (room or 0)
    assert second == [1, 1, 1]


def test_too_long_drafts_are_cut(proposer):
    ANSWER["propose"] = [Proposal([1, 2, 3, 4, 5]), Proposal()]
    assert propose(proposer) == [[1, 2, 3], []]
    assert counters().proposals_cut == 1
    assert fallback().drafting


def test_a_sparse_law_of_no_drafts_is_no_fault(proposer):
    nothing = SparseLaw(torch.empty(0, 2, dtype=torch.int64), torch.empty(0, 2))
    ANSWER["propose"] = [Proposal([], nothing), Proposal([7])]
    assert propose(proposer) == [[], [7]]
    assert fallback().drafting


UNUSABLE = {
    "a sparse law beyond the vocabulary": Proposal([1], SparseLaw(torch.tensor([[1, 10]]), torch.tensor([[0.5, 0.5]]))),
    "a sparse law beside its choices": Proposal([1], SparseLaw(torch.tensor([[1, -1]]), torch.tensor([[0.5, 0.5]]))),
    "a sparse law of another shape": Proposal([1], SparseLaw(torch.tensor([[1, -1]]), torch.tensor([[1.0]]))),
    "a sparse law that sums to 2": Proposal([1], SparseLaw(torch.tensor([[1, 2]]), torch.tensor([[1.0, 1.0]]))),
    "a sparse law that excludes its draft": Proposal([1], SparseLaw(torch.tensor([[2, -1]]), torch.tensor([[1.0, 0]]))),
    "a chance too few": Proposal([1, 2], acceptance=[0.5]),
    "a chance above 1": Proposal([1], acceptance=[1.5]),
    "a chance that is no number": Proposal([1], acceptance=[float("nan")]),
    "an id below the vocabulary": Proposal([1, -1, 2]),
    "an id above the vocabulary": Proposal([1, 10]),
    "an id that fits no integer of the engine": Proposal([2**40]),
    "a list of tokens": [1, 2],
    "nothing": None,
    "tokens that are no numbers": Proposal(["x"]),
    "probs that are no tensor": Proposal([1], [[0.1] * 10]),
    "probs of another vocabulary": Proposal([1, 2], torch.full((2, 9), 1 / 9)),
    "probs of another length": Proposal([1], torch.full((2, 10), 0.1)),
    "probs that sum to 2": Proposal([1], torch.full((1, 10), 0.2)),
    "probs that are not numbers": Proposal([1], torch.full((1, 10), torch.nan)),
    "probs below 0": Proposal([1], torch.tensor([[-0.1, 0.3, *[0.1] * 8]])),
    "probs of 0": Proposal([1], torch.zeros(1, 10)),
    "a draft that its probs exclude": Proposal([0], torch.tensor([[0.0, 1.0, *[0.0] * 8]])),
}


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_answer_costs_its_request_the_draft_and_ends_drafting(proposer, answer):
    ANSWER["propose"] = [answer, Proposal([3])]
    assert propose(proposer) == [[], [3]]
    assert sent_for("a", [1]) is None
    assert fallback().reason is Reason.INVALID_OUTPUT


@pytest.mark.parametrize("answer", [[], [Proposal()], [Proposal()] * 3, None, 7])
def test_a_wrong_number_of_proposals_means_no_drafts(proposer, answer):
    ANSWER["propose"] = answer
    assert propose(proposer) == [[], []]
    assert fallback().reason is Reason.INVALID_OUTPUT


def test_a_drafter_that_raises_means_no_drafts(proposer):
    def explode(requests):
        raise RuntimeError("boom")

    ANSWER["propose"] = explode
    assert propose(proposer) == [[], []]
    assert fallback().reason is Reason.RAISED


def test_a_drafter_in_doubt_starts_again_from_nothing(proposer):
    ANSWER["propose"] = [None, Proposal()]
    propose(proposer)
    ANSWER["propose"] = [Proposal([1]), Proposal()]
    propose(proposer)
    assert proposer._drafter.forgotten == ["a", "b"]
    propose(proposer)
    assert proposer._drafter.forgotten == ["a", "b"]


def test_forgetting_may_fail(proposer, monkeypatch):
    ANSWER["propose"] = [Proposal([1]), Proposal()]
    propose(proposer)
    monkeypatch.setattr(proposer._drafter, "forget", None)
    del proposer._runner.requests["a"]
    proposer._runner.input_batch = batch_of("b")
    ANSWER["propose"] = [Proposal([4])]
    assert propose(proposer, sampled=((2,),), lengths=(6,)) == [[4]]
    assert fallback().reason is Reason.RAISED


def test_requests_that_go_without_drafts_are_not_asked_for(proposer):
    proposer._runner.requests["a"].sampling_params.extra_args = {"verispec": "off"}
    ANSWER["propose"] = [Proposal([7])]
    assert propose(proposer) == [[], [7]]


def test_requests_with_a_processor_that_cannot_follow_are_not_asked_for(proposer):
    plain, forbidding = SamplingParams(), SamplingParams(extra_args={"forbid_repeating": True})
    processors = processors_of([(forbidding, []), (plain, [])], ForbidRepeating)
    proposer._runner.input_batch.logitsprocs = processors
    ANSWER["propose"] = [Proposal([7])]
    assert propose(proposer) == [[], [7]]
    assert [r[0] for r in proposer._drafter.asked[0]] == ["b"]


class Failing:
    """A drafter whose files are missing, until they are there."""

    missing = True
    error = OSError("no such file")

    def __init__(self):
        if self.missing:
            raise self.error

    def propose(self, requests):
        return [Proposal([5])] * len(requests)

    def forget(self, request_ids):
        pass


def test_a_drafter_that_fails_to_load_leaves_a_target_only_server_until_it_is_switched_on(monkeypatch):
    proposer = proposer_of(monkeypatch, "Failing")
    assert fallback().reason is Reason.LOAD_FAILED
    assert propose(proposer) == [[], []]
    monkeypatch.setattr(Failing, "missing", False)
    fallback().switch(True)
    assert propose(proposer) == [[5], [5]]
    assert fallback().drafting


def test_at_rest_nothing_is_kept_for_any_request(proposer):
    ANSWER["propose"] = [Proposal([1], torch.full((1, 10), 0.1)), Proposal()]
    propose(proposer)
    proposer.rest()
    proposer.rest()
    assert proposer._drafter.forgotten == ["a", "b"]
    assert sent_for("a", [1]) is None


def test_a_constructor_that_fails_is_no_unusable_setting(monkeypatch):
    """Damaged files raise ValueErrors too."""
    monkeypatch.setattr(Failing, "error", ValueError("the file is damaged"))
    proposer_of(monkeypatch, "Failing")
    assert fallback().reason is Reason.LOAD_FAILED


def test_a_drafter_that_still_fails_to_load_is_given_up_again(monkeypatch):
    proposer = proposer_of(monkeypatch, "Failing")
    fallback().switch(True)
    assert propose(proposer) == [[], []]
    assert fallback().reason is Reason.LOAD_FAILED


def test_settings_that_name_no_drafter_are_refused_at_the_start(monkeypatch):
    with pytest.raises(DrafterError, match="has no Nobody"):
        proposer_of(monkeypatch, "Nobody")


def test_the_law_of_a_draft_is_sent_under_its_request_id(proposer):
    ANSWER["propose"] = [Proposal(), Proposal([1, 2], torch.full((2, 10), 0.1))]
    propose(proposer)
    assert sent_for("b", [1, 2]).shape == (2, 10)
    assert sent_for("a", [1, 2]) is None


def test_the_law_of_a_cut_draft_is_cut_with_it(proposer):
    ANSWER["propose"] = [Proposal([1, 2, 3, 4], torch.full((4, 10), 0.1)), Proposal()]
    propose(proposer)
    assert sent_for("a", [1, 2, 3]).shape == (3, 10)


def test_a_request_under_a_grammar_is_a_point_mass(proposer):
    proposer._runner.requests["a"] = request(grammar=object())
    ANSWER["propose"] = [Proposal([1], torch.full((1, 10), 0.1)), Proposal()]
    assert propose(proposer)[0] == [1]
    assert sent_for("a", [1]) is None


def test_a_step_without_a_draft_drops_the_law_of_the_last_one(proposer):
    ANSWER["propose"] = [Proposal([1], torch.full((1, 10), 0.1)), Proposal()]
    propose(proposer)
    ANSWER["propose"] = [Proposal(), Proposal()]
    propose(proposer)
    assert sent_for("a", [1]) is None


def test_ended_requests_are_forgotten_by_drafter_and_channel(proposer):
    ANSWER["propose"] = [Proposal([1], torch.full((1, 10), 0.1)), Proposal()]
    propose(proposer)
    del proposer._runner.requests["a"]
    proposer._runner.input_batch = batch_of("b")
    ANSWER["propose"] = [Proposal()]
    propose(proposer, sampled=((2,),), lengths=(6,))
    assert proposer._drafter.forgotten == ["a"]
    assert sent_for("a", [1]) is None


def test_without_the_plugin_the_refusal_says_what_to_set(monkeypatch):
    monkeypatch.setattr(runtime, "_current", None)
    monkeypatch.setenv("VLLM_PLUGINS", "typo")
    with pytest.raises(RuntimeError, match="VLLM_PLUGINS='typo' must name verispec"):
        Proposer(SimpleNamespace())
