"""Which requests are good."""

import pytest

from tests.harness.measure.literal import request
from verispec_bench.errors import UnusableInput
from verispec_bench.measure import Slo
from verispec_bench.measure.metric import MissingError


def test_limits_are_read_as_vllm_writes_them():
    assert Slo.parse("ttft:200 tpot:50") == Slo(ttft_ms=200, tpot_ms=50)
    assert Slo.parse("e2el:1.5e3") == Slo(e2el_ms=1500)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--goodput: is empty"),
        ("ttft", "--goodput: ttft: give ttft:MS, tpot:MS or e2el:MS"),
        ("itl:5", "--goodput: itl:5: give ttft:MS, tpot:MS or e2el:MS"),
        ("ttft:200,tpot:50", "--goodput: ttft:200,tpot:50: the limit must be a number"),
        ("ttft:fast", "--goodput: ttft:fast: the limit must be a number of milliseconds above 0"),
        ("ttft:-1", "above 0"),
        ("ttft:0", "above 0"),
        ("ttft:nan", "above 0"),
        ("ttft:inf", "above 0"),
        ("ttft:1 ttft:2", "--goodput: ttft is given twice"),
    ],
)
def test_other_limits_are_refused_in_one_line(text, message):
    with pytest.raises(UnusableInput, match=message) as refused:
        Slo.parse(text)
    assert "\n" not in str(refused.value)


def test_a_good_request_keeps_every_limit():
    answer = request((0.1, 0.3), (1, 4))  # TTFT 100 ms, TPOT 50 ms, E2EL 300 ms
    assert Slo(ttft_ms=100.001, tpot_ms=50.001, e2el_ms=300.001).met(answer)
    assert not Slo(ttft_ms=99).met(answer)
    assert not Slo(tpot_ms=49).met(answer)
    assert not Slo(ttft_ms=200, e2el_ms=299).met(answer)


def test_a_failed_request_is_not_good():
    assert not Slo(ttft_ms=1000).met(request((0.1,), (1,), error="reset: x"))


def test_an_answer_in_one_piece_keeps_every_time_per_token():
    assert Slo(tpot_ms=1).met(request((0.1,), (5,)))


def test_what_cannot_be_known_is_neither_kept_nor_broken():
    with pytest.raises(MissingError):
        Slo(tpot_ms=50).met(request((0.1, 0.3), (), completion_tokens=None))
