"""How often the control's interval holds 1, with an interval of its own."""

import pytest

from verispec_bench.sweep.control import control_coverage


def cell(low, high, arm="control", valid=True):
    return {"arm": arm, "speedup": (low + high) / 2, "speedup_low": low, "speedup_high": high, "valid": valid}


def test_cells_whose_interval_holds_one_are_counted():
    found = control_coverage([cell(0.9, 1.1)] * 39 + [cell(1.01, 1.2)] + [cell(1.5, 2.0, arm="suffix")])
    assert (found["cells"], found["covered"], found["share"]) == (40, 39, 0.975)
    assert found["furthest"] == pytest.approx(1.105)
    assert (found["share_low"], found["share_high"]) == pytest.approx((0.8684, 0.9994), abs=1e-4)  # Clopper-Pearson


def test_the_ends_of_its_interval_at_none_and_all():
    assert control_coverage([cell(1.1, 1.2)] * 4)["share_low"] == 0
    assert control_coverage([cell(0.9, 1.1)] * 4)["share_high"] == 1


def test_invalid_cells_say_nothing():
    assert control_coverage([cell(0.9, 1.1, valid=False)]) is None
    assert control_coverage([]) is None
