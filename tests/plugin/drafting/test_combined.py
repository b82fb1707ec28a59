"""Each request gets the member that has served it best, by what has been and never by what was drawn."""

import numpy as np
import pytest
import torch

from verispec.drafting import DrafterError, DraftRequest, Proposal
from verispec.drafting.combined import CombinedDrafter, expected_kept, matching


class Says:
    """Always drafts the same."""

    def __init__(self, tokens, chance):
        self._tokens, self._chance, self.forgotten = tokens, chance, []

    def propose(self, requests):
        return [Proposal(self._tokens, acceptance=[self._chance] * len(self._tokens)) for _ in requests]

    def forget(self, request_ids):
        self.forgotten += request_ids


def combined(tokens):
    return CombinedDrafter({f"{__name__}.Says": {"tokens": tokens, "chance": 0.9}, "suffix": {}})


def ask(drafter, tokens, request_id="a"):
    (proposal,) = drafter.propose([DraftRequest(request_id, np.array(tokens, np.int32), 4)])
    return proposal


def test_who_promises_most_is_taken_first():
    proposal = ask(combined([50, 51]), [1, 2, 3])
    assert list(proposal.token_ids) == [50, 51]
    assert proposal.source.endswith("Says")


def test_what_a_member_says_of_its_source_is_kept_apart():
    drafter = CombinedDrafter({"stochastic-suffix": {}, "ngram": {}})
    (proposal,) = drafter.propose([DraftRequest("a", np.array([1, 2, 3, 1, 2], np.int32), 4, temperature=0.8)])
    assert proposal.source == "stochastic-suffix/drawn"


def test_who_is_never_right_loses_the_request_but_no_other():
    drafter, history = combined([50, 51]), [1, 2, 3, 4, 5, 6] * 3
    for length in range(8, 18):
        proposal = ask(drafter, history[:length])
    assert proposal.source == "suffix"
    assert ask(drafter, [1, 2, 3], "new").source.endswith("Says")


def test_all_members_forget():
    drafter = combined([50])
    ask(drafter, [1, 2, 3])
    drafter.forget(["a"])
    assert not drafter._records
    assert [member.forgotten for member in drafter._members.values() if isinstance(member, Says)] == [["a"]]


def test_what_is_expected_does_not_depend_on_what_was_drawn():
    one, two = (Proposal([1] * n, torch.ones(n, 5) / 5, [0.5, 0.5]) for n in (1, 2))
    assert expected_kept(one, 4) == expected_kept(two, 4) == 0.75
    one, two = (Proposal([1] * n, torch.ones(n, 5) / 5) for n in (1, 2))
    assert expected_kept(one, 4) == expected_kept(two, 4)


def test_matching_counts_to_the_first_difference():
    assert matching([1, 2, 3], [1, 2, 4, 3]) == 2
    assert matching([], [1]) == matching([1], []) == 0


@pytest.mark.parametrize(
    "members", [{}, {"suffix": {}}, {"suffix": {}, "ngramm": {}}, {"suffix": {}, "ngram": {"m": 2}}]
)
def test_nonsense_is_refused(members):
    with pytest.raises(DrafterError):
        CombinedDrafter(members)
