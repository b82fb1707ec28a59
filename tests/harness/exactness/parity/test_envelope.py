"""Gaps, their changes, and the statistics of these, computed by hand."""

import pytest

from verispec_bench.exactness.parity.envelope import Envelope, changes, gap, likeliest_two


def row(**logprobs):
    return [(int(name[1:]), value, "") for name, value in logprobs.items()]


def test_a_gap_is_a_difference_of_logprobs_in_which_normalisation_cancels():
    assert gap(row(t5=-0.5, t9=-2.0), 5, 9) == 1.5
    assert gap(row(t5=-7.5, t9=-9.0), 5, 9) == 1.5
    assert gap(row(t5=-0.5, t9=-2.0), 9, 5) == -1.5


def test_the_gap_to_a_token_that_is_not_returned_is_unknown_not_large():
    assert gap(row(t5=-0.5), 5, 9) is None


def test_the_likeliest_two_are_found_whatever_their_order():
    assert likeliest_two(row(t3=-4.0, t5=-0.5, t9=-2.0)) == (5, 9)


def test_changes_compare_the_gap_of_target_onlys_likeliest_two():
    contested = [row(t1=-1.0, t2=-2.0), row(t3=-1.0, t4=-1.5), row(t5=0.0, t6=-9.0)]
    rows = [row(t1=-1.0, t2=-2.5), row(t4=-1.0, t3=-1.25)]
    passes = [row(t1=-1.0, t2=-2.0), row(t3=-1.0, t4=-1.125), row(t5=0.0)]
    assert changes(contested, rows, passes) == [0.5, 0.375]
    assert changes(contested, contested, passes) == [0.0, 0.375, None]


def test_a_contested_position_is_left_out_of_the_envelope():
    rows = [row(t1=-1.0, t2=-1.0), row(t1=-1.0, t2=-3.0)]
    passes = [row(t1=-1.0, t2=-9.0), row(t1=-1.0, t2=-3.5)]
    assert changes(rows, rows, passes, skip={0}) == [0.5]


def test_the_envelope_is_the_largest_change_beside_its_quantiles():
    """Of 0, 1, …, 100: median 50, 99th percentile 99, maximum 100; an unknown change is counted apart."""
    envelope = Envelope.of([None, *map(float, range(101))])
    assert envelope == Envelope(101, 1, 50.0, 99.0, 100.0)


def test_quantiles_lie_between_the_values_around_them():
    """Of 0, 1, 3: 98% of the way from 1 to 3 is 2.96."""
    assert Envelope.of([3.0, 0.0, 1.0]).p99 == pytest.approx(2.96)


def test_a_gap_is_covered_up_to_the_maximum_in_either_direction():
    envelope = Envelope.of([0.25, 0.5])
    assert [envelope.covers(value) for value in (0.5, -0.5, 0.501, -0.501, None)] == [True, True, False, False, False]


def test_an_envelope_without_positions_covers_nothing():
    assert Envelope.of([None]) == Envelope(0, 1, None, None, None)
    assert not Envelope.of([]).covers(0.0)
