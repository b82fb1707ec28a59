"""The two worked scenarios come out to the printed digits; break-even is where the speedup is 1."""

import pytest

from verispec_bench.speedmodel import WORKED, Round, WholeRequest, break_even, expected_tokens, memory_bound_speedup

COSTS = Round(target_ms=20, draft_ms=1, verify_ms=21, overhead_ms=1.5, gamma=4)


def test_the_code_assistant_wins():
    worked = WORKED["code_assistant"]
    found = break_even(worked.costs, worked.alpha, worked.request)
    assert found["expected_tokens"] == pytest.approx(3.233, abs=5e-4)
    assert found["round_ms"] == 26.5
    assert found["token_ms"] == pytest.approx(8.2, abs=0.05)
    assert found["speedup"] == pytest.approx(2.44, abs=5e-3)
    assert found["end_to_end"]["target_only_ms"] == 3620
    assert found["end_to_end"]["speculative_ms"] == pytest.approx(1730, abs=5)
    assert found["end_to_end"]["speedup"] == pytest.approx(2.09, abs=5e-3)


def test_with_a_slower_verification_it_wins_less():
    slower = break_even(Round(20, 1, 30, 1.5, 4), 0.78)
    assert slower["speedup"] == pytest.approx(1.82, abs=5e-3)


def test_the_negative_control_loses():
    worked = WORKED["negative_control"]
    found = break_even(worked.costs, worked.alpha)
    assert found["expected_tokens"] == pytest.approx(2.11, abs=5e-3)
    assert found["round_ms"] == pytest.approx(14.1)
    assert found["speedup"] == pytest.approx(0.67, abs=5e-3)
    assert found["end_to_end"] is None


def test_at_break_even_the_speedup_is_one():
    alpha = COSTS.break_even_alpha()
    assert COSTS.speedup(expected_tokens(alpha, COSTS.gamma)) == pytest.approx(1)
    tokens = expected_tokens(0.78, 4)
    verify_ms = COSTS.break_even_verify_ms(tokens)
    assert Round(20, 1, verify_ms, 1.5, 4).speedup(tokens) == pytest.approx(1)


def test_break_even_may_be_out_of_reach_or_free():
    assert Round(4, 3, 20, 1, 4).break_even_alpha() is None
    assert Round(20, 0, 10, 0, 4).break_even_alpha() == 0


def test_a_pass_below_the_targets_own_step_is_as_long_at_every_window():
    """It cannot be, and must not make a round of other windows free or negative."""
    odd = Round(target_ms=20, draft_ms=0, verify_ms=10, overhead_ms=0, gamma=1)
    assert [odd.with_window(gamma).verify_ms for gamma in (1, 2, 32)] == [10, 10, 10]
    assert odd.best_window(0.5)[1] < 4


def test_the_best_window_is_the_fastest_of_all():
    window, speedup = COSTS.best_window(0.78)
    others = [COSTS.with_window(gamma).speedup(expected_tokens(0.78, gamma)) for gamma in range(1, 33)]
    assert speedup == max(others)
    assert others[window - 1] == speedup
    assert COSTS.with_window(4) == COSTS
    assert COSTS.best_window(0.1)[0] == 1


def test_a_wait_and_a_prompt_are_the_same_in_both_arms():
    request = WholeRequest(prefill_ms=100, tokens=10, queue_ms=50)
    assert request.target_only_ms(COSTS) == 350
    assert request.speculative_ms(COSTS, 2.65) == pytest.approx(250)


def test_memory_bound_speedup():
    assert memory_bound_speedup(3, gamma=4, relative_cost=0.05) == 2.5
