"""Recent answers are bounded, in tokens and in tenants."""

import numpy as np

from verispec.drafting.match_index import SEPARATOR
from verispec.drafting.recent_answers import RecentAnswers


def answer(first, length):
    return np.arange(first, first + length, dtype=np.int32)


def test_answers_are_kept_apart_by_a_separator():
    answers = RecentAnswers(2, 1000, 4)
    answers.add("x", answer(10, 3))
    answers.add("x", answer(20, 3))
    assert answers.of("x").tokens.tolist() == [10, 11, 12, SEPARATOR, 20, 21, 22, SEPARATOR]


def test_memory_stays_bounded_and_the_newest_is_kept():
    answers = RecentAnswers(2, 100, 4)
    for first in range(0, 10_000, 10):
        answers.add("x", answer(first, 10))
        assert len(answers.of("x")) <= 100
    assert answers.of("x").tokens[-11:-1].tolist() == list(range(9990, 10_000))


def test_of_an_answer_that_is_too_long_the_end_is_kept():
    answers = RecentAnswers(2, 100, 4)
    answers.add("x", answer(0, 500))
    assert len(answers.of("x")) <= 50
    assert answers.of("x").tokens[-2] == 499


def test_a_memory_too_small_for_a_match_keeps_nothing():
    for room in range(4):
        answers = RecentAnswers(1, room, 1)
        answers.add("x", answer(0, 9))
        assert len(answers.of("x")) == 0
    answers = RecentAnswers(1, 4, 1)
    answers.add("x", answer(0, 9))
    assert answers.of("x").tokens.tolist() == [8, SEPARATOR]


def test_the_tenant_that_asked_longest_ago_is_forgotten():
    answers = RecentAnswers(2, 100, 2)
    answers.add("x", answer(0, 5))
    answers.add("y", answer(0, 5))
    answers.of("x")
    answers.add("z", answer(0, 5))
    assert [len(answers.of(tenant)) for tenant in ("x", "y", "z")] == [6, 0, 6]


def test_answers_too_short_to_be_found_are_not_kept():
    answers = RecentAnswers(3, 100, 2)
    answers.add("x", answer(0, 2))
    assert len(answers.of("x")) == 0
