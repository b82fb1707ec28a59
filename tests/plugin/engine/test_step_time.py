"""Passes are told apart by what they hold: drafts, prompts, or neither."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from verispec.engine import runtime, step_time
from verispec.engine.counters import Counters
from verispec.settings import Settings


@pytest.fixture
def counters(monkeypatch):
    monkeypatch.setattr(runtime, "_current", None)
    return runtime.start(Settings()).counters


def scheduled(tokens, drafts=None):
    return SimpleNamespace(
        num_scheduled_tokens=tokens,
        scheduled_spec_decode_tokens=drafts or {},
        total_num_scheduled_tokens=sum(tokens.values()),
    )


@pytest.mark.parametrize(
    ("output", "kind"),
    [
        (scheduled({"a": 1, "b": 1}), "decode"),
        (scheduled({"a": 3, "b": 1}, {"a": [5, 6]}), "verify"),
        (scheduled({"a": 40}), "prompt"),
        (scheduled({"a": 3, "b": 2}, {"a": [5, 6]}), "prompt"),
        (scheduled({}), None),
    ],
)
def test_a_pass_is_counted_by_what_was_in_it(counters, output, kind):
    assert step_time.forward(lambda self, scheduler_output: "out")(None, output) == "out"
    counted = {name: getattr(counters, f"{name}_passes") for name in ("decode", "verify", "prompt")}
    assert counted == {name: int(name == kind) for name in counted}
    timed = {name: getattr(counters, f"{name}_seconds") for name in counted}
    assert all((seconds > 0) == (name == kind) for name, seconds in timed.items())


def test_what_the_rule_and_the_drafter_took_is_not_counted_twice(counters):
    def sample_tokens(self, grammar_output):
        counters.rule_seconds += 5.0
        counters.draft_seconds += 3.0

    step_time.after_forward(sample_tokens)(None, None)
    assert counters.overhead_seconds == pytest.approx(-8.0, abs=0.1)
    assert replace(counters, rule_seconds=0, draft_seconds=0, overhead_seconds=0) == Counters()
