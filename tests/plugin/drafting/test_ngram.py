"""The n-gram drafter: the newest occurrence of exactly n tokens."""

import numpy as np
import pytest

from verispec.drafting import DrafterError, DraftRequest
from verispec.drafting.ngram import NGramDrafter


def propose(drafter, tokens, max_tokens=3):
    (proposal,) = drafter.propose([DraftRequest("a", np.array(tokens, np.int32), max_tokens)])
    return list(proposal.token_ids)


def test_what_followed_the_newest_occurrence():
    assert propose(NGramDrafter(n=2), [1, 2, 3, 5, 5, 2, 3, 7, 8, 9, 1, 2, 3]) == [7, 8, 9]


def test_fewer_tokens_in_common_are_not_enough():
    assert propose(NGramDrafter(n=3), [9, 2, 3, 7, 1, 2, 3]) == []


def test_nothing_is_drafted_from_ended_requests():
    drafter = NGramDrafter(n=2)
    propose(drafter, [1])
    propose(drafter, [1, 2, 3, 4])
    drafter.forget(["a"])
    assert propose(drafter, [9, 2, 3]) == []


def test_nonsense_is_refused():
    with pytest.raises(DrafterError):
        NGramDrafter(n=0)
