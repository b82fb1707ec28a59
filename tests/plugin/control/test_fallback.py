"""Faults stop drafting for a stated time; what no time heals waits for the switch."""

import logging
import math

import pytest

from verispec.control import Fallback, Reason


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def fallback(clock):
    return Fallback(cooldown_s=30, clock=clock)


def test_drafting_goes_on_until_there_is_a_fault(fallback, clock):
    clock.now += 1e6
    assert fallback.drafting
    assert fallback.target_only_s == 0


def test_a_fault_stops_drafting_for_the_cool_down_and_no_longer(fallback, clock):
    fallback.trip(Reason.RAISED)
    clock.now += 29.9
    assert not fallback.drafting
    assert fallback.reason is Reason.RAISED
    clock.now += 0.1
    assert fallback.drafting
    assert fallback.reason is None


def test_further_faults_prolong_the_cool_down_and_are_no_fallbacks_of_their_own(fallback, clock):
    fallback.trip(Reason.RAISED)
    clock.now += 20
    fallback.trip(Reason.INVALID_OUTPUT)
    clock.now += 20
    assert not fallback.drafting
    assert fallback.trips == {Reason.RAISED: 1}
    assert fallback.reason is Reason.RAISED
    clock.now += 10
    assert fallback.drafting


@pytest.mark.parametrize("reason", [Reason.LOAD_FAILED, Reason.SWITCHED_OFF])
def test_some_reasons_wait_for_the_switch(fallback, clock, reason):
    fallback.trip(reason)
    fallback.trip(Reason.STALLED)
    clock.now += 1e6
    assert not fallback.drafting
    assert fallback.reason is reason
    fallback.switch(True)
    assert fallback.drafting


def test_switching_off_during_a_cool_down_outlasts_it(fallback, clock):
    fallback.trip(Reason.RAISED)
    fallback.switch(False)
    clock.now += 1000
    assert not fallback.drafting
    assert fallback.reason is Reason.SWITCHED_OFF


def test_switching_on_ends_a_cool_down_and_changes_nothing_while_drafting(fallback):
    fallback.switch(True)
    fallback.trip(Reason.RULE_CHECK)
    fallback.switch(True)
    assert fallback.drafting
    assert fallback.trips == {Reason.RULE_CHECK: 1}


def test_time_without_drafting_is_added_up(fallback, clock):
    fallback.trip(Reason.RAISED)
    clock.now += 12
    assert fallback.target_only_s == 12
    fallback.switch(True)
    clock.now += 50
    fallback.trip(Reason.RAISED)
    clock.now += 5
    assert fallback.target_only_s == 17


def test_the_status_says_when_drafting_is_tried_again(fallback, clock):
    assert fallback.status() == {
        "drafting": True,
        "reason": None,
        "resumes_in_s": None,
        "target_only_s": 0.0,
        "trips": dict.fromkeys(Reason, 0),
    }
    fallback.trip(Reason.STALLED)
    clock.now += 10
    status = fallback.status()
    assert (status["drafting"], status["reason"], status["resumes_in_s"]) == (False, "stalled", 20)
    fallback.switch(False)
    assert fallback.status()["resumes_in_s"] is None
    assert not math.isnan(fallback.status()["target_only_s"])


def test_what_changes_is_logged_with_its_reason_and_its_end(fallback, clock, caplog):
    caplog.set_level(logging.WARNING, "vllm.verispec")
    logging.getLogger("vllm.verispec").propagate = True
    logging.getLogger("vllm").propagate = True
    fallback.trip(Reason.RAISED, "RuntimeError: boom")
    fallback.trip(Reason.RAISED, "RuntimeError: boom")
    clock.now += 31
    assert fallback.drafting
    assert [record.getMessage() for record in caplog.records] == [
        "verispec: decoding without drafts for 30 s: raised: RuntimeError: boom",
        "verispec: drafting again: the cool-down is over",
    ]
