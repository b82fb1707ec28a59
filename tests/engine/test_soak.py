"""A live server under load while every fault is switched on once: nothing is lost, no token differs."""

import asyncio
from dataclasses import replace

import pytest

from tests.soak.soak import Servers, soak
from verispec.control import Reason
from verispec_bench.scenario import BASELINE


@pytest.fixture(scope="module")
def report(servers):
    """One round of all faults."""
    pair = Servers(
        servers[BASELINE].base_url, servers["faulty"].base_url, servers["faulty"].model, servers["faulty"].control
    )
    return asyncio.run(soak(pair, seconds=0, phase_s=1.0))


def test_no_request_is_lost(report):
    assert report.tally.lost == []
    assert report.tally.finished == report.tally.sent - report.tally.aborted > 30


def test_no_greedy_or_seeded_answer_differs(report):
    assert report.tally.differing == []


def test_every_fault_is_noticed_for_its_reason_and_recovered_from(report):
    assert report.missing == []
    occurred = {reason for reason, count in report.fallbacks.items() if count}
    assert occurred == {reason.value for reason in Reason} - {Reason.RULE_CHECK}  # that one is not a drafter's to cause


def test_drafts_are_accepted_between_the_faults(report):
    assert report.accepted_tokens > 0
    assert 0 < report.target_only_share < 1


def test_the_memory_of_the_worker_is_read(report):
    assert len(report.memory_mib) == 1
    assert report.memory_mib[0] > 100


@pytest.mark.parametrize(("memory_mib", "passed"), [([500, 600, 610, 620], True), ([500, 600, 610, 640], False)])
def test_memory_that_grows_fails_a_soak(report, memory_mib, passed):
    assert replace(report, memory_mib=memory_mib).passed is passed
