"""The match index finds what a search through the whole text finds, while it grows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verispec.drafting.match_index import LONGER, MOST_LOOKED_AT, SEPARATOR, MatchIndex, find_matches

TEXTS = st.lists(st.integers(0, 3), max_size=60)


def index_of(tokens, n=2) -> MatchIndex:
    index = MatchIndex(n)
    index.extend(np.array(tokens, np.int32))
    return index


def matches(index, history, is_own, max_match=64, max_candidates=10_000):
    ends, lengths = np.zeros(10_000, np.int32), np.zeros(10_000, np.int32)
    history = np.array(history, np.int32)
    found = find_matches(index.chains, history, is_own, max_match, max_candidates, ends, lengths)
    return list(zip(ends[:found].tolist(), lengths[:found].tolist(), strict=True))


def searched(text, history, n, ends, max_match=64):
    found = []
    for end in ends:
        length = 0
        while length < min(end, len(history), max_match) and text[end - 1 - length] == history[-1 - length]:
            length += 1
        if length >= n:
            found.append((end, length))
    return sorted(found, key=lambda match: match[1] < n + LONGER)  # stable


@given(TEXTS, st.integers(1, 4))
def test_all_earlier_occurrences_in_the_own_history_are_found_long_ones_first_then_the_newest(text, n):
    assert matches(index_of(text, n), text, True) == searched(text, text, n, range(len(text) - 1, 0, -1))


@given(TEXTS, TEXTS, st.integers(1, 4))
def test_all_occurrences_in_another_text_are_found_long_ones_first_then_the_newest(text, history, n):
    assert matches(index_of(text, n), history, False) == searched(text, history, n, range(len(text), 0, -1))


@given(TEXTS, st.lists(st.integers(0, 20), max_size=5))
def test_how_the_text_came_makes_no_difference(text, cuts):
    index, begin = MatchIndex(2), 0
    for cut in sorted(min(cut, len(text)) for cut in cuts):
        index.extend(np.array(text[begin:cut], np.int32))
        begin = cut
    index.extend(np.array(text[begin:], np.int32))
    assert index.tokens.tolist() == text
    assert matches(index, text, True) == matches(index_of(text), text, True)


def test_a_text_larger_than_the_first_room_is_kept_whole():
    text = np.random.default_rng(0).integers(0, 50_000, 5000).astype(np.int32)
    text[-4:] = text[1000:1004]
    assert matches(index_of(text, 3), text, True) == [(1004, 4)]


def test_longer_matches_are_not_measured_beyond_the_limit():
    assert matches(index_of([1, 2, 3, 4, 1, 2, 3, 4]), [1, 2, 3, 4, 1, 2, 3, 4], True, max_match=3) == [(4, 3)]


def test_only_so_many_matches_are_found():
    assert [end for end, _ in matches(index_of([1] * 9), [1] * 9, True, max_candidates=3)] == [8, 7, 6]


def test_only_so_many_positions_are_looked_at():
    text = [1, 2] * (MOST_LOOKED_AT + 10)
    assert len(matches(index_of(text, 1), [9, 2], False)) == MOST_LOOKED_AT


def test_a_long_match_is_found_far_behind_the_newest_short_ones():
    text = [5, 6, 7, 8, 0, *[9, 0] * (2 * MOST_LOOKED_AT), 5, 6, 7, 8, 0]
    assert matches(index_of(text, 1), text, True, max_candidates=4)[0] == (5, 5)


def test_other_n_grams_of_the_same_hash_do_not_hide_a_match():
    text = np.random.default_rng(0).permutation(2000).astype(np.int32)
    for end in range(10, 1000, 50):
        history = np.append(text, text[end - 3 : end])
        assert matches(index_of(history, 3), history, True, max_candidates=1) == [(end, 3)]


def test_no_match_reaches_across_a_separator():
    assert matches(index_of([1, 2, SEPARATOR, 3, 4]), [1, 2, 3, 4], False) == [(5, 2)]


@pytest.mark.parametrize("history", [[], [1], [1, 2]])
def test_texts_shorter_than_an_n_gram_have_none(history):
    assert matches(index_of(history, 3), history, True) == []
    assert matches(index_of([5, 6, 7], 3), history, False) == []
