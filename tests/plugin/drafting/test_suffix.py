"""The suffix drafter copies what followed, as much as the match deserves."""

import numpy as np
import pytest

from verispec.drafting import DraftRequest
from verispec.drafting.suffix import SuffixDrafter


def propose(drafter, tokens, max_tokens=8, request_id="a"):
    request = DraftRequest(request_id, np.array(tokens, dtype=np.int32), max_tokens)
    (proposal,) = drafter.propose([request])
    assert proposal.probs is None
    return list(proposal.token_ids)


def test_copies_what_followed_the_longest_match():
    assert propose(SuffixDrafter(), [1, 2, 3, 4, 5, 9, 1, 2, 3]) == [4, 5, 9]


def test_drafts_as_much_as_the_match_is_long():
    tokens = [*list(range(20)), 99, *list(range(10))]
    assert propose(SuffixDrafter(tokens_per_match=1.0), tokens, 16) == list(range(10, 20))
    assert propose(SuffixDrafter(tokens_per_match=0.5), tokens, 16) == list(range(10, 15))


def test_never_more_than_asked():
    assert propose(SuffixDrafter(), [*list(range(20)), 99, *list(range(10))], 3) == [10, 11, 12]


def test_a_period_goes_on_past_the_end_of_the_history():
    assert propose(SuffixDrafter(), [7, 8, 7, 8, 7, 8, 7], 5) == [8, 7, 8, 7, 8]
    assert propose(SuffixDrafter(min_match=2), [1, 1, 1], 4) == [1, 1]


def test_nothing_repeated_means_nothing_drafted():
    assert propose(SuffixDrafter(), [1, 2, 3, 4]) == []
    assert propose(SuffixDrafter(), [1]) == []


def test_requests_do_not_see_each_other():
    drafter = SuffixDrafter()
    propose(drafter, [1, 2, 3, 4, 5], request_id="a")
    assert propose(drafter, [9, 1, 2, 3], request_id="b") == []


def test_the_history_is_indexed_once():
    drafter = SuffixDrafter()
    propose(drafter, [1, 2, 3, 4], request_id="a")
    index = drafter._indices["a"]
    assert propose(drafter, [1, 2, 3, 4, 1, 2, 3], request_id="a") == [4, 1, 2]
    assert drafter._indices["a"] is index


def test_a_forgotten_request_starts_afresh():
    drafter = SuffixDrafter()
    propose(drafter, [1, 2, 3, 4, 1, 2, 3])
    drafter.forget(["a", "never seen"])
    assert propose(drafter, [1, 2, 3]) == []


def test_a_history_that_shrank_is_indexed_again():
    drafter = SuffixDrafter()
    propose(drafter, [1, 2, 3, 4, 1, 2, 3])
    assert propose(drafter, [5, 6]) == []
    assert len(drafter._indices["a"]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_match": 0}, "min_match"),
        ({"min_match": 9, "max_match": 4}, "min_match"),
        ({"tokens_per_match": 0}, "tokens_per_match"),
        ({"max_candidates": 0}, "max_candidates"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        SuffixDrafter(**options)
