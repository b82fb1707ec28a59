"""The comparison that the replays rest on notices what it is there to notice."""

from dataclasses import replace
from math import inf

import pytest

from tests.engine.answers import Answer, differing_fields, distance

REFERENCE = Answer(
    token_ids=[1, 2, 3],
    text="abc",
    logprobs=[{1: -0.5, 7: -1.0}, {2: -0.1, 7: -2.5}, {3: -0.2, 7: -inf}],
    finish_reason="stop",
    stop_reason="c",
    chunks=[([1], "a"), ([2], "b"), ([3], "c")],
)


def test_an_answer_is_like_itself():
    assert differing_fields(replace(REFERENCE), REFERENCE, 0) == []


def test_an_answer_in_larger_chunks_is_the_same():
    assert differing_fields(replace(REFERENCE, chunks=[([1, 2], "ab"), ([3], "c")]), REFERENCE, 0) == []


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({"token_ids": [1, 2, 4]}, ["token_ids"]),
        ({"text": "ab"}, ["text"]),
        ({"finish_reason": "length"}, ["finish_reason"]),
        ({"stop_reason": None}, ["stop_reason"]),
        ({"logprobs": REFERENCE.logprobs[:2]}, ["logprobs"]),
        ({"logprobs": None}, ["logprobs"]),
        ({"prompt_logprobs": [{1: -0.5}]}, ["prompt_logprobs"]),
        ({"chunks": [([1], "ab"), ([2], ""), ([3], "c")]}, ["streamed text"]),
        ({"chunks": [([1, 2], "a"), ([3], "bc")]}, ["streamed text"]),
    ],
)
def test_a_change_is_named(change, fields):
    assert differing_fields(replace(REFERENCE, **change), REFERENCE, 0) == fields


def test_logprobs_are_as_far_apart_as_their_worst_token():
    moved = [dict(row) for row in REFERENCE.logprobs]
    moved[1][7] += 0.25
    assert distance(moved, REFERENCE.logprobs) == pytest.approx(0.25)
    assert differing_fields(replace(REFERENCE, logprobs=moved), REFERENCE, 0.3) == []
    assert differing_fields(replace(REFERENCE, logprobs=moved), REFERENCE, 0.2) == ["logprobs"]


def test_a_token_that_is_masked_in_one_of_two_laws_is_infinitely_far():
    moved = [dict(row) for row in REFERENCE.logprobs]
    moved[2][7] = -30.0
    assert distance(moved, REFERENCE.logprobs) == inf


def test_of_two_tokens_that_share_the_last_place_of_the_top_either_may_be_shown():
    assert distance([{1: -0.5, 8: -1.0}], [{1: -0.5, 9: -1.0}]) == 0
    assert distance([{1: -0.5, 8: -1.0}], [{1: -0.5, 9: -1.5}]) == 0.5
