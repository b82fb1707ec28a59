"""Drafters by name and by import path."""

import pytest

from verispec.drafting import DrafterError, make_drafter
from verispec.drafting.suffix import SuffixDrafter


class Silent:
    def propose(self, requests):
        return []

    def forget(self, request_ids):
        pass


class NoForget:
    def propose(self, requests):
        return []


def test_by_name_with_options():
    assert isinstance(make_drafter("suffix", {"min_match": 2}), SuffixDrafter)


def test_by_import_path():
    assert isinstance(make_drafter(f"{__name__}.Silent", {}), Silent)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("sufix", {}, "'sufix' is none of suffix, .* and no import path"),
        ("no.such.Class", {}, "cannot be imported: No module named 'no'"),
        ("verispec.drafting.Missing", {}, "cannot be imported"),
        ("suffix", {"min_mach": 2}, "drafter_options of 'suffix'.*min_mach"),
        ("suffix", {"min_match": -1}, "drafter_options of 'suffix': min_match"),
        (f"{__name__}.NoForget", {}, "has no method forget"),
    ],
)
def test_unusable_drafters_are_refused_in_one_line(name, options, message):
    with pytest.raises(DrafterError, match=message) as refusal:
        make_drafter(name, options)
    assert "\n" not in str(refusal.value)


class Damaged:
    def __init__(self, path="here"):
        raise ValueError("the file is damaged")


def test_what_a_constructor_raises_is_not_taken_for_unusable_options():
    with pytest.raises(ValueError, match="the file is damaged") as error:
        make_drafter(f"{__name__}.Damaged", {"path": "there"})
    assert not isinstance(error.value, DrafterError)
