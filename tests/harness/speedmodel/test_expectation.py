"""Tokens of a round, by hand."""

import pytest

from verispec_bench.speedmodel import expected_tokens, expected_tokens_of, independent_acceptance


def test_independent_acceptance_adds_up_its_powers():
    assert expected_tokens(0.5, 2) == 1.75
    assert expected_tokens(0, 4) == 1
    assert expected_tokens(1, 4) == 5
    assert expected_tokens(0.78, 4) == pytest.approx((1 - 0.78**5) / (1 - 0.78))


def test_measured_survival_adds_up():
    assert expected_tokens_of([0.7, 0.5, 0.25]) == 2.45
    assert expected_tokens_of([]) == 1


def test_the_alpha_of_an_expectation_is_found_back():
    assert independent_acceptance(expected_tokens(0.63, 5), 5) == pytest.approx(0.63)
    assert independent_acceptance(1, 3) == pytest.approx(0)
    assert independent_acceptance(4, 3) == pytest.approx(1)
    assert independent_acceptance(4.1, 3) is None
    assert independent_acceptance(0.9, 3) is None
