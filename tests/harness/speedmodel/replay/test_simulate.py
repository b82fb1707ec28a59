"""Steps are added up as the published oracles do it; here by hand."""

import numpy as np
import pytest

from verispec_bench.speedmodel.replay import Bill, Cost, Trace
from verispec_bench.speedmodel.replay.plan import longest, single
from verispec_bench.speedmodel.replay.simulate import identical_batches, mixed_batches

BILL = Bill(
    source="by hand",
    target=Cost(kv_s=0.001, token_s=0.01, step_s=1),
    overhead_s=0.1,
    drafters={"a": Cost(step_s=0.5), "b": Cost(verify_share=0.25)},
)


def trace(tokens=4, prompt_tokens=10, **lengths):
    return Trace("1", prompt_tokens, tokens, None, {name: np.array(each) for name, each in lengths.items()})


def planned(policy, *traces):
    return [policy(each) for each in traces]


def test_a_request_is_a_prompt_and_its_steps():
    """Prompt 10: 1.11 + .1. Target-only: 1 + .01 + .001·(10, 11, 12, 13) + .1 a step. With a: steps of 3 and 1."""
    request = trace(a=[3, 9, 9, 1])
    prefill = 1 + 0.001 * 10 + 0.01 * 10 + 0.1
    without = prefill + 4 * (1 + 0.01 + 0.1) + 0.001 * (10 + 11 + 12 + 13)
    drafted = prefill + (1 + 0.03 + 0.01 + 0.1 + 0.5) + (1 + 0.01 + 0.013 + 0.1 + 0.5)
    speedup = identical_batches([request], planned(single("a"), request), BILL, 1)
    assert speedup == pytest.approx(without / drafted)


def test_copies_share_the_step_and_add_up_in_its_tokens():
    request = trace(tokens=1, prompt_tokens=1, a=[1])
    prefill = 1 + 0.001 * 8 + 0.01 * 8 + 0.1
    step = 1 + 0.001 * 8 + 0.01 * 8 + 0.1
    speedup = identical_batches([request], planned(single("a"), request), BILL, 8)
    assert speedup == pytest.approx((prefill + step) / (prefill + step + 0.5))


def test_who_is_billed_makes_the_difference():
    request = trace(tokens=2, prompt_tokens=0, a=[1, 2], b=[1, 1])
    verify = [1 + 0.01 + 0.1, 1 + 0.02 + 0.001 + 0.1]
    taken_a = sum(verify) + 2 * 0.5
    both = taken_a + 0.25 * (1.01 + 1.021)
    only_b = sum(verify) + 0.25 * (1.01 + 1.021)
    base = identical_batches([request], planned(longest("taken"), request), BILL, 1)
    prefill = 1.1
    for billed, seconds in (("all", both), ("b", only_b)):
        speedup = identical_batches([request], planned(longest(billed), request), BILL, 1)
        assert speedup / base == pytest.approx((prefill + taken_a) / (prefill + seconds))


def test_in_a_mixed_batch_a_step_lasts_as_long_as_all_its_rows_need():
    """Four equal requests at a time, all with the same steps: the ratio is that of one batch."""
    request = trace(tokens=6, prompt_tokens=5, a=[2] * 6)
    prefill = 1 + 0.001 * 20 + 0.01 * 20 + 0.1
    kv = [4 * 0.001 * (5 + done) for done in range(6)]
    without = prefill + sum(1 + 0.04 + kv[done] + 0.1 for done in range(6))
    drafted = prefill + sum(1 + 0.08 + kv[done] + 0.1 + 0.5 for done in (0, 2, 4))
    speedup = mixed_batches([request], planned(single("a"), request), BILL, 4)
    assert speedup == pytest.approx(without / drafted)


def test_only_rows_with_drafts_are_billed_in_a_mixed_batch():
    drafts, none = trace(tokens=40, prompt_tokens=1, b=[2] * 40), trace(tokens=40, prompt_tokens=1, b=[1] * 40)
    plans = planned(single("b"), drafts, none)
    never = [plans[0], plans[1].__class__(plans[1].committed, plans[1].verified, {"b": np.zeros(40, dtype=bool)})]
    assert mixed_batches([drafts, none], never, BILL, 8) > mixed_batches([drafts, none], plans, BILL, 8)
