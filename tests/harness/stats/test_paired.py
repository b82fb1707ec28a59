"""The paired comparison: right on known data, honest about noise."""

import numpy as np
import pytest

from verispec_bench.client.record import RequestRecord
from verispec_bench.stats import Block, compare


def answer(seconds: float, tokens: int = 10, start: float = 0.0, error=None) -> RequestRecord:
    times = [start + seconds * (i + 1) / tokens for i in range(tokens)]
    return RequestRecord(
        "p",
        start,
        chunk_times_s=times,
        chunk_tokens=[1] * tokens,
        end_s=times[-1],
        completion_tokens=tokens,
        error=error,
    )


def one_after_the_other(durations) -> list[RequestRecord]:
    """A run at concurrency 1."""
    starts = np.concatenate([[0.0], np.cumsum(durations)[:-1]])
    return [answer(d, start=s) for d, s in zip(durations, starts, strict=False)]


def test_twice_as_fast_on_every_prompt_has_no_spread():
    base = [1.0, 2.0, 3.0, 2.0]
    block = Block(one_after_the_other(base), one_after_the_other([d / 2 for d in base]))
    result = compare([block, block])
    assert result.speedup.value == pytest.approx(2.0)
    assert (result.speedup.low, result.speedup.high) == pytest.approx((2.0, 2.0))
    assert result.latency["p50_tpot"].value == pytest.approx(0.5)


def test_speedup_is_the_ratio_of_totals_not_the_mean_of_ratios():
    """Prompt 1: 1 s to 0.5 s; prompt 2: 9 s to 9 s. Totals say 10/9.5, ratios would say 1.5."""
    block = Block(one_after_the_other([1.0, 9.0]), one_after_the_other([0.5, 9.0]))
    assert compare([block]).speedup.value == pytest.approx(10 / 9.5)


def test_an_open_loop_is_judged_by_its_mean_latency():
    """Baseline answers take 1 and 3 s, the arm's 1 and 1 s: 4 / 2."""
    arrivals = [0.0, 10.0]
    base = [answer(d, start=s) for d, s in zip((1.0, 3.0), arrivals, strict=True)]
    arm = [answer(1.0, start=s) for s in arrivals]
    assert compare([Block(base, arm)], open_loop=True).speedup.value == pytest.approx(2.0)


def test_trimmed_requests_do_not_count():
    """The first and last of four are slow in one arm; without them both arms are alike."""
    base = one_after_the_other([1.0, 1.0, 1.0, 1.0])
    arm = one_after_the_other([9.0, 1.0, 1.0, 9.0])
    result = compare([Block(base, arm)], trim=0.25)
    assert result.speedup.value == pytest.approx(1.0)
    assert result.pairs == 2


@pytest.mark.parametrize("sizes", [[8], [2, 3], [8, 0]])
def test_too_little_gives_an_estimate_without_an_interval(sizes):
    ratio = compare([Block(one_after_the_other([1.0] * n), one_after_the_other([0.5] * n)) for n in sizes]).speedup
    assert (ratio.value, ratio.low, ratio.high) == (pytest.approx(2.0), None, None)


def test_an_interval_holds_its_estimate():
    rng = np.random.default_rng(1)
    block = Block(one_after_the_other(rng.lognormal(0, 0.3, 20)), one_after_the_other(rng.lognormal(-0.3, 0.3, 20)))
    ratio = compare([block, block]).speedup
    assert ratio.low < ratio.value < ratio.high


def test_pairs_with_a_failure_are_left_out_of_both_arms():
    base = one_after_the_other([1.0, 1.0, 1.0])
    arm = one_after_the_other([0.5, 0.5, 0.5])
    arm[1].error = "timeout: x"
    assert compare([Block(base, arm)]).pairs == 2


def test_p95_needs_twenty_pairs():
    blocks = [Block(one_after_the_other([1.0] * n), one_after_the_other([1.0] * n)) for n in (10, 9)]
    assert "p95_tpot" not in compare(blocks).latency
    blocks = [Block(one_after_the_other([1.0] * 10), one_after_the_other([1.0] * 10))] * 2
    assert compare(blocks).latency["p95_tpot"].value == pytest.approx(1.0)


def test_nothing_in_common_is_none():
    failed = [answer(1.0, error="reset: x")]
    result = compare([Block(failed, failed)])
    assert (result.speedup.value, result.speedup.low, result.pairs) == (None, None, 0)


def test_undefined_latencies_are_left_out_pairwise():
    """A one-token answer has no TPOT: it does not count, and breaks nothing."""
    base, arm = [answer(1.0), answer(1.0, tokens=1)], [answer(0.5), answer(0.5)]
    assert compare([Block(base, arm)]).latency["p50_tpot"].value == pytest.approx(0.5)
