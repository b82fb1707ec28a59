"""Acceptance is judged over whole stretches, pooled."""

from verispec.control import AcceptanceWatch


def found(watch, *rounds):
    return [watch.observe(*round_) is not None for round_ in rounds]


def test_a_stretch_below_the_least_share_is_a_collapse():
    assert found(AcceptanceWatch(0.1, window=10), (4, 0), (4, 0), (4, 1)) == [False, False, True]


def test_the_share_itself_is_enough():
    assert found(AcceptanceWatch(0.25, window=4), (2, 1), (2, 0)) == [False, False]


def test_every_stretch_is_judged_by_itself():
    watch = AcceptanceWatch(0.5, window=4)
    assert found(watch, (4, 4), (4, 1), (4, 4)) == [False, True, False]


def test_least_zero_never_finds_a_collapse():
    assert found(AcceptanceWatch(0.0, window=1), (5, 0), (5, 0)) == [False, False]


def test_what_was_found_is_said_in_counts():
    assert AcceptanceWatch(0.02, window=100).observe(120, 1) == (
        "1 of the last 120 drafts were kept, at least 2% are asked for"
    )
