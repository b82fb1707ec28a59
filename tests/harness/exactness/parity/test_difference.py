"""What counts as a difference between two answers, and what explains it."""

from dataclasses import replace

import pytest

from verispec_bench.exactness.parity.answer import Answer
from verispec_bench.exactness.parity.difference import find_difference, judge
from verispec_bench.exactness.parity.envelope import Envelope

ANSWER = Answer("code-001", [7, 8], [1, 2, 3], "one two three", "stop", "three", 3)
ENVELOPE = Envelope.of([0.001])


def test_equal_answers_have_no_difference_whatever_was_drafted():
    assert find_difference(ANSWER, replace(ANSWER, rounds=2, draft_tokens=8, accepted_tokens=5)) is None


@pytest.mark.parametrize(
    ("changed", "kind", "position", "sides"),
    [
        ({"token_ids": [1, 9, 3], "text": "one nine three"}, "token", 1, (2, 9)),
        ({"token_ids": [1, 2], "text": "one two"}, "length", 2, (3, 2)),
        ({"token_ids": [1, 2, 3, 4]}, "length", 3, (3, 4)),
        ({"text": "one two threefour"}, "text", None, ("one two three", "one two threefour")),
        ({"finish_reason": "length"}, "finish", None, (("stop", "three"), ("length", "three"))),
        ({"stop_reason": "two"}, "finish", None, (("stop", "three"), ("stop", "two"))),
        ({"completion_tokens": 4}, "usage", None, (3, 4)),
    ],
)
def test_the_first_difference_is_of_a_kind(changed, kind, position, sides):
    found = find_difference(ANSWER, replace(ANSWER, **changed))
    assert (found.kind, found.position, (found.baseline, found.arm)) == (kind, position, sides)


def test_prompts_that_are_tokenised_differently_cannot_be_compared():
    assert find_difference(ANSWER, replace(ANSWER, prompt_token_ids=[7, 9])).kind == "prompt"


def judged(baseline_gap, arm_gap):
    difference = find_difference(ANSWER, replace(ANSWER, token_ids=[1, 9, 3]))
    rows = tuple([(2, -1.0, " two"), (9, -1.0 - gap, " nine")] for gap in (baseline_gap, arm_gap))
    return judge(difference, rows, ENVELOPE)


def test_a_gap_within_the_envelope_on_both_servers_is_a_near_tie():
    found = judged(0.0005, -0.0005)
    assert found["verdict"] == "near-tie"
    assert (found["baseline_text"], found["arm_text"]) == (" two", " nine")
    assert (found["baseline_gap"], found["arm_gap"]) == (pytest.approx(0.0005), pytest.approx(-0.0005))


@pytest.mark.parametrize("gaps", [(0.002, 0.0005), (0.0005, -0.002), (3.0, 3.0)])
def test_a_gap_outside_the_envelope_on_either_server_is_unexplained(gaps):
    assert judged(*gaps)["verdict"] == "unexplained"


def test_an_unknown_gap_is_unexplained():
    difference = find_difference(ANSWER, replace(ANSWER, token_ids=[1, 9, 3]))
    found = judge(difference, ([(2, -1.0, " two")], [(2, -1.0, " two"), (9, -1.0, " nine")]), ENVELOPE)
    assert (found["baseline_gap"], found["arm_gap"], found["verdict"]) == (None, 0.0, "unexplained")


def test_no_near_tie_explains_another_text_of_the_same_tokens():
    found = judge(find_difference(ANSWER, replace(ANSWER, text="")), None, ENVELOPE)
    assert (found["verdict"], found["baseline_gap"]) == ("unexplained", None)
