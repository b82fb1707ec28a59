"""The suffix drafter drafts what followed the longest matches, with a chance, and from nobody else's text."""

import numpy as np
import pytest

from verispec.drafting import DrafterError, DraftRequest
from verispec.drafting.suffix import SuffixDrafter


def ask(drafter, tokens, max_tokens=8, request_id="a", tenant=None):
    (proposal,) = drafter.propose([DraftRequest(request_id, np.array(tokens, np.int32), max_tokens, tenant=tenant)])
    assert proposal.probs is None
    assert len(proposal.acceptance) == len(proposal.token_ids)
    return proposal


def propose(drafter, tokens, max_tokens=8, request_id="a", tenant=None):
    return list(ask(drafter, tokens, max_tokens, request_id, tenant).token_ids)


def test_copies_what_followed_the_longest_match():
    assert propose(SuffixDrafter(), [1, 2, 3, 4, 5, 9, 1, 2, 3], 3) == [4, 5, 9]


def test_a_longer_match_outvotes_newer_ones():
    assert propose(SuffixDrafter(), [1, 2, 3, 4, 7, 2, 3, 5, 8, 2, 3, 5, 9, 1, 2, 3], 1) == [4]


def test_of_equal_matches_the_majority_wins():
    assert propose(SuffixDrafter(), [1, 2, 5, 1, 2, 6, 1, 2, 5, 1, 2, 6, 1, 2, 6, 3, 1, 2], 1) == [6]


def test_what_disagrees_with_the_draft_has_no_further_vote():
    drafted = propose(SuffixDrafter(max_match=2), [1, 2, 5, 7, 1, 2, 5, 7, 1, 2, 6, 8, 3, 1, 2], 2)
    assert drafted == [5, 7]


def test_never_more_than_asked():
    assert propose(SuffixDrafter(), [*range(20), 99, *range(10)], 3) == [10, 11, 12]


def test_a_period_goes_on_past_the_end_of_the_history():
    assert propose(SuffixDrafter(), [7, 8, 7, 8, 7, 8, 7], 5) == [8, 7, 8, 7, 8]
    assert propose(SuffixDrafter(min_match=2), [1, 1, 1], 4) == [1, 1, 1, 1]


def test_nothing_repeated_means_nothing_drafted():
    assert propose(SuffixDrafter(), [1, 2, 3, 4]) == []
    assert propose(SuffixDrafter(), [1]) == []


def test_the_chance_grows_with_the_match_and_falls_with_disagreement():
    long = ask(SuffixDrafter(), [1, 2, 3, 4, 5, 6, 9, 1, 2, 3, 4, 5], 1).acceptance[0]
    short = ask(SuffixDrafter(), [1, 2, 3, 4, 5, 6, 9, 4, 5], 1).acceptance[0]
    torn = ask(SuffixDrafter(), [4, 5, 6, 4, 5, 7, 9, 4, 5], 1).acceptance[0]
    assert 1 > long > short > torn > 0


def test_running_requests_do_not_see_each_other():
    drafter = SuffixDrafter()
    propose(drafter, [1, 2, 3, 4, 5], request_id="a")
    assert propose(drafter, [9, 1, 2, 3], request_id="b") == []


def test_the_answer_of_an_ended_request_is_drafted_from_but_not_its_prompt():
    drafter = SuffixDrafter()
    propose(drafter, [30, 31, 32, 33, 10], request_id="a")  # a prompt, and the first token of the answer
    propose(drafter, [30, 31, 32, 33, 10, 11, 12, 13], request_id="a")
    drafter.forget(["a", "never seen"])
    assert propose(drafter, [9, 10, 11], request_id="b") == [12, 13]
    assert propose(drafter, [9, 30, 31], request_id="c") == []


def test_no_text_passes_from_one_tenant_to_another():
    drafter = SuffixDrafter()
    for tenant, token in (("x", 50), ("y", 60), (None, 70)):
        propose(drafter, [10, 11, 12, token], request_id="r", tenant=tenant)
        propose(drafter, [10, 11, 12, token, 1, 2, 3, token], request_id="r", tenant=tenant)
        drafter.forget(["r"])
    for tenant, token in (("x", 50), ("y", 60), (None, 70)):
        assert propose(drafter, [9, 1, 2, 3], 1, request_id="s", tenant=tenant) == [token]
        drafter.forget(["s"])
    assert propose(drafter, [9, 1, 2, 3], request_id="s", tenant="z") == []


def test_without_memory_a_request_copies_from_itself_only():
    drafter = SuffixDrafter(memory_tokens=0)
    propose(drafter, [10], request_id="a")
    propose(drafter, [10, 11, 12, 13], request_id="a")
    drafter.forget(["a"])
    assert propose(drafter, [9, 10, 11], request_id="b") == []


def test_the_history_is_indexed_once():
    drafter = SuffixDrafter()
    propose(drafter, [1, 2, 3, 4], request_id="a")
    index = drafter._histories["a"].index
    assert propose(drafter, [1, 2, 3, 4, 1, 2, 3], 3, request_id="a") == [4, 1, 2]
    assert drafter._histories["a"].index is index


def test_a_history_that_has_shrunk_starts_afresh():
    drafter = SuffixDrafter()
    propose(drafter, [1, 2, 3, 4, 1, 2, 3])
    assert propose(drafter, [1, 2, 3]) == []


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"min_match": 0}, "min_match"),
        ({"min_match": 9, "max_match": 8}, "max_match"),
        ({"memory_tokens": 64.0}, "memory_tokens"),
        ({"min_match": "2"}, "min_match"),
        ({"min_match": True}, "min_match"),
        ({"max_candidates": 0}, "max_candidates"),
        ({"memory_tokens": -1}, "memory_tokens"),
        ({"max_tenants": 0}, "max_tenants"),
    ],
)
def test_nonsense_is_refused_by_name(options, named):
    with pytest.raises(DrafterError, match=named):
        SuffixDrafter(**options)
