"""Latencies that cannot be known are None."""

from dataclasses import replace

from tests.harness.measure.literal import request
from verispec_bench.measure import latency

ANSWER = request((0.7,), (5,))


def test_an_answer_that_was_not_streamed_has_no_time_to_first_token():
    assert latency.ttft_s(ANSWER) == 0.7
    whole = replace(ANSWER, streamed=False)
    assert latency.ttft_s(whole) is None
    assert latency.e2el_s(whole) == 0.7
