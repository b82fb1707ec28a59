"""A request may go without drafts, or ask for them."""

from types import SimpleNamespace

import pytest
from vllm import SamplingParams

from verispec.engine.request_choice import check_choice, wants_drafts


def choosing(choice):
    return SamplingParams(extra_args={"verispec": choice})


@pytest.mark.parametrize("by_default", [True, False])
def test_a_request_that_says_nothing_gets_the_servers_default(by_default):
    assert wants_drafts(SamplingParams(), by_default) is by_default
    assert wants_drafts(SamplingParams(extra_args={"other": 1}), by_default) is by_default


@pytest.mark.parametrize("by_default", [True, False])
def test_a_request_that_chooses_gets_its_choice(by_default):
    assert wants_drafts(choosing("on"), by_default)
    assert not wants_drafts(choosing("off"), by_default)


@pytest.mark.parametrize("choice", ["maybe", 1, "", ["on"], True])
def test_another_choice_is_refused_in_one_line(choice):
    with pytest.raises(ValueError, match=r'^vllm_xargs\.verispec is .*; it may be "on" or "off"$'):
        check_choice(choosing(choice))


@pytest.mark.parametrize("params", [SamplingParams(), choosing("on"), choosing("off"), SimpleNamespace()])
def test_other_requests_pass(params):
    check_choice(params)
