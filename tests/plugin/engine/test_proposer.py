"""What reaches the engine is always usable, whatever the drafter answers."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from verispec.drafting import Proposal
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


def request(grammar=None, temperature=0.0):
    return SimpleNamespace(
        sampling_params=SimpleNamespace(structured_outputs=grammar, temperature=temperature, seed=None)
    )


@pytest.fixture
def proposer(monkeypatch):
    monkeypatch.setattr(runtime, "_current", None)
    runtime.start(Settings(drafter=f"{__name__}.Scripted"))
    config = SimpleNamespace(
        speculative_config=SimpleNamespace(num_speculative_tokens=3),
        model_config=SimpleNamespace(max_model_len=16, get_vocab_size=lambda: 10),
    )
    made = Proposer(config)
    made.bind(
        SimpleNamespace(input_batch=SimpleNamespace(req_ids=["a", "b"]), requests={"a": request(), "b": request()})
    )
    return made


def propose(proposer, sampled=((1,), (2,)), lengths=(4, 5)):
    tokens = np.tile(np.arange(16, dtype=np.int32), (len(sampled), 1))
    return proposer.propose([list(s) for s in sampled], np.array(lengths), tokens)


def counters():
    return runtime.current().counters


def sent_for(request_id, drafts):
    return runtime.current().q_channel.receive([request_id], [len(drafts)], torch.tensor(drafts))[0]


def test_histories_and_room_reach_the_drafter(proposer):
    ANSWER["propose"] = [Proposal([7]), Proposal()]
    assert propose(proposer) == [[7], []]
    assert proposer._drafter.asked == [[("a", [0, 1, 2, 3], 3, 0.0), ("b", [0, 1, 2, 3, 4], 3, 0.0)]]


def test_prompts_that_are_not_complete_get_no_draft(proposer):
    ANSWER["propose"] = [Proposal([7])]
    assert propose(proposer, sampled=((), (2,))) == [[], [7]]
    assert [r[0] for r in proposer._drafter.asked[0]] == ["b"]


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


@pytest.mark.parametrize("bad", [-1, 10, 2**40])
def test_drafts_end_before_an_id_outside_the_vocabulary(proposer, bad):
    ANSWER["propose"] = [Proposal([1, bad, 2]), Proposal()]
    assert propose(proposer) == [[1], []]


@pytest.mark.parametrize("answer", [[], [Proposal()], [Proposal()] * 3])
def test_a_wrong_number_of_proposals_means_no_drafts(proposer, answer):
    ANSWER["propose"] = answer
    assert propose(proposer) == [[], []]
    assert counters().drafter_errors == 1


def test_a_drafter_that_raises_means_no_drafts_and_is_counted(proposer):
    def explode(requests):
        raise RuntimeError("boom")

    ANSWER["propose"] = explode
    assert propose(proposer) == [[], []]
    assert propose(proposer) == [[], []]
    assert counters().drafter_errors == 2


@pytest.mark.parametrize("answer", [[1, 2], None, Proposal(["x"]), Proposal([1], [[0.1] * 10])])
def test_an_answer_that_is_no_proposal_costs_only_its_own_request(proposer, answer):
    ANSWER["propose"] = [answer, Proposal([3])]
    assert propose(proposer) == [[], [3]]
    assert counters().drafter_errors == 1


def test_forgetting_may_fail(proposer, monkeypatch):
    ANSWER["propose"] = [Proposal([1]), Proposal()]
    propose(proposer)
    monkeypatch.setattr(proposer._drafter, "forget", None)
    del proposer._runner.requests["a"]
    proposer._runner.input_batch.req_ids = ["b"]
    ANSWER["propose"] = [Proposal([4])]
    assert propose(proposer, sampled=((2,),), lengths=(6,)) == [[4]]
    assert counters().drafter_errors == 1


@pytest.mark.parametrize("row", [[0.2] * 10, [float("nan")] * 10, [-0.1, 0.3, *[0.1] * 8], [0.0] * 10])
def test_a_q_that_is_no_law_is_not_sent(proposer, row):
    ANSWER["propose"] = [Proposal([1], torch.tensor([row])), Proposal()]
    assert propose(proposer)[0] == [1]
    assert sent_for("a", [1]) is None
    assert counters().proposals_cut == 1


def test_the_law_of_a_draft_is_sent_under_its_request_id(proposer):
    ANSWER["propose"] = [Proposal(), Proposal([1, 2], torch.full((2, 10), 0.1))]
    propose(proposer)
    assert sent_for("b", [1, 2]).shape == (2, 10)
    assert sent_for("a", [1, 2]) is None


def test_the_law_of_a_cut_draft_is_cut_with_it(proposer):
    ANSWER["propose"] = [Proposal([1, 2, 3, 4], torch.full((4, 10), 0.1)), Proposal()]
    propose(proposer)
    assert sent_for("a", [1, 2, 3]).shape == (3, 10)


def test_a_law_of_another_shape_is_not_sent(proposer):
    ANSWER["propose"] = [Proposal([1, 2], torch.full((2, 9), 1 / 9)), Proposal()]
    assert propose(proposer)[0] == [1, 2]
    assert sent_for("a", [1, 2]) is None
    assert counters().proposals_cut == 1


def test_a_draft_that_was_cut_because_of_its_tokens_is_a_point_mass(proposer):
    ANSWER["propose"] = [Proposal([1, 99], torch.full((2, 10), 0.1)), Proposal()]
    assert propose(proposer)[0] == [1]
    assert sent_for("a", [1]) is None


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
    proposer._runner.input_batch.req_ids = ["b"]
    ANSWER["propose"] = [Proposal()]
    propose(proposer, sampled=((2,),), lengths=(6,))
    assert proposer._drafter.forgotten == ["a"]
    assert sent_for("a", [1]) is None


def test_without_the_plugin_the_refusal_says_what_to_set(monkeypatch):
    monkeypatch.setattr(runtime, "_current", None)
    monkeypatch.setenv("VLLM_PLUGINS", "typo")
    with pytest.raises(RuntimeError, match="VLLM_PLUGINS='typo' must name verispec"):
        Proposer(SimpleNamespace())
