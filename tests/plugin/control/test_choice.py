"""The lengths that are chosen are the best there are, within what is allowed."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verispec.control import choice
from verispec.control.choice import LEAST_GAIN

CHANCES = st.lists(st.lists(st.floats(0.02, 0.98), max_size=3), min_size=1, max_size=3)


def draft_lengths(chances, seconds, slack_s=None, tpot_target_s=np.inf):
    counts = np.array([len(chance) for chance in chances])
    padded = np.full((len(chances), counts.max()), 0.99)  # what stands beyond a request's drafts is none
    for row, chance in enumerate(chances):
        padded[row, : len(chance)] = chance
    slack_s = np.full(len(chances), np.inf) if slack_s is None else slack_s
    return choice.draft_lengths(padded, counts, np.array(seconds, float), slack_s, tpot_target_s, 0.0).tolist()


def mean_speed(chances, seconds, lengths):
    tokens = [1 + float(np.cumprod(chance[:length]).sum()) for chance, length in zip(chances, lengths, strict=True)]
    return np.prod(tokens) ** (1 / len(chances)) / seconds[sum(lengths)] * (1 if sum(lengths) else LEAST_GAIN)


@given(CHANCES, st.lists(st.floats(0.5, 3.0), min_size=10, max_size=10))
def test_no_other_lengths_make_the_requests_faster(chances, seconds):
    chances, seconds = [np.array(chance) for chance in chances], np.array(seconds)
    seconds = seconds[: 1 + sum(map(len, chances))]
    chosen = draft_lengths(chances, seconds)
    best = max(mean_speed(chances, seconds, lengths) for lengths in product(*(range(len(c) + 1) for c in chances)))
    assert mean_speed(chances, seconds, chosen) == pytest.approx(best)


def test_drafts_go_where_they_gain_most():
    chances = [np.array([0.9, 0.9, 0.9]), np.array([0.05, 0.05, 0.05])]
    assert draft_lengths(chances, np.array([1, 1.1, 1.2, 1.3, 1.6, 1.9, 2.2])) == [3, 0]


def test_a_hump_in_the_cost_is_looked_over():
    """2 rows cost more than 8."""
    assert draft_lengths([np.full(7, 0.9)], np.array([1, 2.5, 2.4, 2.3, 2.2, 2.1, 2.0, 1.2])) == [7]


def test_nothing_is_drafted_where_nothing_gains():
    assert draft_lengths([np.array([0.3]), np.array([0.2])], np.array([1, 1.5, 2.0])) == [0, 0]
    assert draft_lengths([np.empty(0), np.empty(0)], np.array([1.0])) == [0, 0]


def test_a_gain_within_what_is_known_of_the_costs_is_none():
    assert draft_lengths([np.array([0.5])], np.array([1, 1.49])) == [0]
    assert draft_lengths([np.array([0.5])], np.array([1, 1.40])) == [1]


def test_no_request_pays_for_another_beyond_its_slack():
    chances, seconds = [np.full(3, 0.9), np.empty(0)], np.array([1, 1.1, 1.2, 1.3])
    assert draft_lengths(chances, seconds, np.array([0.0, np.inf])) == [3, 0]
    assert draft_lengths(chances, seconds, np.array([0.0, 0.21])) == [2, 0]
    assert draft_lengths(chances, seconds, np.array([0.0, 0.0])) == [0, 0]


def test_without_drafts_is_always_allowed():
    assert draft_lengths([np.array([0.9])], np.array([1, 1.1]), np.array([-5.0])) == [0]


def test_a_target_for_the_time_per_token_comes_before_goodput():
    chances, seconds = [np.full(3, 0.9), np.empty(0)], np.array([1, 1.1, 1.2, 1.3])
    assert draft_lengths(chances, seconds) == [3, 0]
    assert draft_lengths(chances, seconds, tpot_target_s=1.1) == [1, 0]
    assert draft_lengths(chances, seconds, tpot_target_s=0.1) == [2, 0]  # out of reach: as near to it as can be
