"""Goodput, computed by hand."""

import pytest

from verispec_bench.bench.goodput import parse_goodput, request_goodput
from verispec_bench.client import RequestRecord
from verispec_bench.errors import UnusableInput


def answer(*times, error=None):
    tokens = [1] * len(times)
    return RequestRecord(
        "p", 1.0, chunk_times_s=list(times), chunk_tokens=tokens, completion_tokens=sum(tokens), error=error
    )


FAST, LATE, SLOW = answer(1.1, 1.12, 1.14), answer(1.3, 1.32, 1.34), answer(1.1, 1.2, 1.3)
"""TTFT 100, 300, 100 ms; TPOT 20, 20, 100 ms; E2EL 140, 340, 300 ms."""


@pytest.mark.parametrize(
    ("promises", "good"),
    [
        ({"ttft": 200.0}, 2),
        ({"tpot": 50.0}, 2),
        ({"ttft": 200.0, "tpot": 50.0}, 1),
        ({"e2el": 320.0}, 2),
        ({"ttft": 1.0}, 0),
    ],
)
def test_a_request_is_good_if_it_keeps_every_promise(promises, good):
    assert request_goodput([FAST, LATE, SLOW], promises, 2.0) == good / 2


def test_failed_requests_are_not_good():
    assert request_goodput([FAST, answer(1.1, 1.12, error="reset: x")], {"ttft": 200.0}, 1.0) == 1


def test_one_token_has_no_time_per_token_and_keeps_that_promise():
    assert request_goodput([answer(1.1)], {"ttft": 200.0, "tpot": 1.0}, 1.0) == 1


def test_without_promises_there_is_no_goodput():
    assert request_goodput([FAST], {}, 1.0) is None


def test_promises_are_read_as_vllm_s_flag_says_them():
    assert parse_goodput(["ttft:200 tpot:50", "e2el:3000"]) == {"ttft": 200, "tpot": 50, "e2el": 3000}
    for text in ("ttft", "ttft:x", "ttft:0", "ttft:nan", "itl:5", ":5"):
        with pytest.raises(UnusableInput, match=r"is not ttft\|tpot\|e2el:MILLISECONDS"):
            parse_goodput([text])
