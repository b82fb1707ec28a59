"""Estimates become right, for all requests and for each, and say how right they were."""

import numpy as np
import pytest

from verispec.control.estimates import AcceptanceEstimates


def fates(chances, rng):
    """Of a draft: right until the first that is wrong."""
    right = []
    for chance in chances:
        right.append(bool(rng.random() < chance))
        if not right[-1]:
            break
    return right


def chances(estimates, request_id, source, stated):
    return estimates.chances([request_id], [source], np.array([stated]))[0]


def observe(estimates, request_id, stated, right):
    expected = chances(estimates, request_id, "", stated)
    estimates.observe([request_id], [""], np.array([stated]), expected[None], np.array([[sum(right), len(right)]]))


def learn(estimates, request_id, stated, true, drafts, rng):
    for _ in range(drafts):
        observe(estimates, request_id, stated, fates(true, rng))


def test_a_drafter_is_believed_before_anything_is_known():
    assert chances(AcceptanceEstimates(), "a", "", [0.3, 0.8]) == pytest.approx([0.3, 0.8])


def test_nothing_is_certain():
    assert chances(AcceptanceEstimates(), "a", "", [0.0, 1.0]) == pytest.approx([0.02, 0.98])


def test_a_drafter_that_flatters_itself_is_corrected_for_new_requests():
    rng, estimates = np.random.default_rng(0), AcceptanceEstimates()
    for request in range(100):
        learn(estimates, str(request), [0.9, 0.9, 0.9], [0.5, 0.5, 0.5], 10, rng)
    assert chances(estimates, "new", "", [0.9, 0.9, 0.9]) == pytest.approx([0.5] * 3, abs=0.1)
    assert chances(estimates, "new", "other drafter", [0.9]) == pytest.approx([0.9])


def test_a_request_that_differs_is_known_within_forty_drafts():
    rng, estimates = np.random.default_rng(0), AcceptanceEstimates()
    for request in range(50):
        learn(estimates, str(request), [0.6], [0.6], 10, rng)
    learn(estimates, "bad", [0.6], [0.1], 40, rng)
    learn(estimates, "good", [0.6], [0.95], 40, rng)
    assert chances(estimates, "bad", "", [0.6])[0] < 0.35
    assert chances(estimates, "good", "", [0.6])[0] > 0.75
    assert chances(estimates, "new", "", [0.6])[0] == pytest.approx(0.6, abs=0.15)


def test_many_requests_of_several_drafters_are_estimated_as_each_alone():
    rng, estimates = np.random.default_rng(0), AcceptanceEstimates()
    for request, source in (("a", "x"), ("b", "y"), ("c", "x")):
        stated = rng.random(3)
        for _ in range(20):
            right = fates(rng.random(3), rng)
            alone = estimates.chances([request], [source], stated[None])
            estimates.observe([request], [source], stated[None], alone, np.array([[sum(right), len(right)]]))
    stated = rng.random((3, 6))
    together = estimates.chances(["a", "b", "c"], ["x", "y", "x"], stated)
    for row, (request, source) in enumerate((("a", "x"), ("b", "y"), ("c", "x"))):
        assert together[row] == pytest.approx(estimates.chances([request], [source], stated[row : row + 1])[0])


def test_ended_requests_leave_nothing():
    estimates = AcceptanceEstimates()
    observe(estimates, "a", [0.6], [False])
    estimates.forget(["a", "never seen"])
    assert len(estimates._requests) == 0


def test_reliability_counts_every_draft_with_a_fate_by_its_chance():
    estimates = AcceptanceEstimates()
    observe(estimates, "a", [0.95, 0.15, 0.5], [True, False])
    reliability = estimates.reliability
    assert reliability.drafts.tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    assert reliability.right.tolist() == [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert reliability.expected[9] == pytest.approx(0.95)
    observe(estimates, "a", [0.5], [])
    assert sum(reliability.drafts) == 2


def test_the_reliability_curve_is_the_diagonal_once_learned():
    """A drafter that flatters itself, and requests that differ."""
    rng, estimates = np.random.default_rng(0), AcceptanceEstimates()
    for request in range(600):
        if request == 200:
            estimates.reliability = type(estimates.reliability)()
        stated = rng.choice([0.15, 0.35, 0.55, 0.75, 0.95], 4)
        odds = 0.7 * stated / (1 - 0.7 * stated) * np.exp(0.8 * rng.standard_normal())
        learn(estimates, str(request), stated, odds / (1 + odds), 10, rng)
    curve = estimates.reliability
    for drafts, expected, right in zip(curve.drafts, curve.expected, curve.right, strict=True):
        if drafts > 200:
            assert right / drafts == pytest.approx(expected / drafts, abs=0.06)
