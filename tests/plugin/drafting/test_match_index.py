"""The match index finds what a rescan of the history would find."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from verispec.drafting.match_index import Match, MatchIndex


def index_of(tokens, min_match=2, max_match=64, max_candidates=10**6) -> MatchIndex:
    index = MatchIndex(min_match, max_match, max_candidates)
    index.extend(np.array(tokens, dtype=np.int32))
    return index


def by_rescan(tokens, min_match) -> Match | None:
    """Longest earlier occurrence of the end, newest among equals, by comparing everything."""
    best = None
    for end in range(len(tokens) - 1, 0, -1):
        length = 0
        while length < end and tokens[end - 1 - length] == tokens[-1 - length]:
            length += 1
        if length >= min_match and (best is None or length > best.length):
            best = Match(end, length)
    return best


@given(st.lists(st.integers(0, 2), max_size=40), st.integers(1, 4))
def test_equals_a_rescan(tokens, min_match):
    assert index_of(tokens, min_match).longest_match() == by_rescan(tokens, min_match)


@given(st.lists(st.integers(0, 2), max_size=30), st.integers(0, 30))
def test_growing_in_pieces_is_the_same_as_at_once(tokens, cut):
    index = index_of(tokens[:cut])
    index.extend(np.array(tokens[cut:], dtype=np.int32))
    assert index.longest_match() == index_of(tokens).longest_match()


def test_longest_wins_over_newest():
    assert index_of([1, 2, 3, 9, 2, 3, 8, 1, 2, 3]).longest_match() == Match(end=3, length=3)


def test_newest_wins_among_equals():
    assert index_of([2, 3, 7, 2, 3, 8, 2, 3]).longest_match() == Match(end=5, length=2)


def test_match_may_overlap_the_end():
    assert index_of([1, 1, 1]).longest_match() == Match(end=2, length=2)


def test_histories_shorter_than_the_shortest_match_have_none():
    assert index_of([], 3).longest_match() is None
    assert index_of([1, 1], 3).longest_match() is None


def test_comparing_stops_at_max_match():
    assert index_of([5] * 50, max_match=8).longest_match() == Match(end=49, length=8)


def test_work_for_a_match_is_bounded_by_max_candidates():
    looked_at = []

    class Watched(list):
        def __getitem__(self, at):
            looked_at.append(at)
            return super().__getitem__(at)

    index = index_of([1, 2, 0] * 5000 + [1, 2], max_candidates=4)
    index.tokens = Watched(index.tokens)
    index.max_match = 10
    index.longest_match()
    assert len(looked_at) <= 2 * 4 * 10
