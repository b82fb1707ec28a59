"""A gate fails for what is broken, says when it cannot tell, and hardly ever fails a sound server."""

import numpy as np
import pytest

from tests.harness.ledger.planted import LAW, PARITY, cell
from tests.harness.stats.test_interval import total_ratio, world
from tests.plugin.release.example import manifest
from verispec_bench.errors import UnusableInput
from verispec_bench.ledger.gate import MARGIN, Gate, found_in, judge
from verispec_bench.stats import interval as module
from verispec_bench.stats.interval import interval

TEST = LAW | {"sampling": {"temperature": 1.0}, "p_holm": 0.4}


def verification(law=None, parity=None):
    return {"tests": [TEST | (law or {})], "parity": {"arms": [PARITY | (parity or {})]}}


def gate(*speedup, **fields):
    summary = {"comparisons": [cell("a", *speedup, **fields)]}
    return found_in(summary, manifest().as_dict()), summary


def judged(*speedup, law=None, parity=None, reference=None, **fields):
    found, summary = gate(*speedup, **fields)
    return judge(found, verification(law, parity), summary, reference)


def test_a_sound_server_passes():
    reference, _ = gate(1.5, 1.3, 1.7)
    assert judged(1.45, 1.25, 1.65, reference=reference).state == "closed"
    assert judged(1.45, 1.25, 1.65).state == "closed"


@pytest.mark.parametrize(
    "planted",
    [
        {"law": {"verdict": "deviates", "reasons": ["its law is not the target's"]}},
        {"parity": {"verdict": "differs", "reasons": ["3 unexplained differences"]}},
        {"speedup": (1.1, 1.0, 1.2)},
    ],
)
def test_what_is_broken_fails(planted):
    reference, _ = gate(1.5, 1.3, 1.7)
    speedup = planted.pop("speedup", (1.5, 1.3, 1.7))
    assert judged(*speedup, reference=reference, **planted).state == "broken"


def test_a_short_test_is_wide_and_that_is_no_fault():
    assert judged(1.5, 1.3, 1.7, law={"verdict": "too wide", "reasons": ["the bound is above"]}).state == "closed"


@pytest.mark.parametrize(
    "planted",
    [
        {"law": {"verdict": "not drafted", "reasons": ["nothing was drafted"]}},
        {"parity": {"verdict": "drifts", "reasons": ["2% of the rows lie outside"]}},
        {"valid": False, "reasons": ["block 2 was disturbed twice"]},
        {"reference": {"machine": {"cpu": "another"}}},
        {"reference": {"cell": "another"}},
        {"reference": {"speedup": None, "speedup_low": None, "speedup_high": None}},
    ],
)
def test_what_cannot_be_told_is_no_verdict(planted):
    reference, _ = gate(1.5, 1.3, 1.7)
    reference = reference.model_copy(update=planted.pop("reference", {}))
    assert judged(1.5, 1.3, 1.7, reference=reference, **planted).state == "open"


def test_a_gate_may_do_without_the_law_or_without_greedy_answers():
    found, summary = gate(1.5, 1.3, 1.7)
    for missing in ("tests", "parity"):
        assert judge(found, verification() | {missing: None}, summary, None).state == "closed"


def test_what_a_gate_wrote_is_a_reference(tmp_path):
    found, summary = gate(1.5, 1.3, 1.7)
    file = found.write(tmp_path, judge(found, verification(), summary, None), None)
    assert Gate.read(file) == Gate.read(tmp_path) == found
    other = found.model_copy(update={"contract_sha256": "another"})
    written = [found.as_dict(judge(found, verification(), summary, known), known) for known in (None, found, other)]
    assert [content["same_contract"] for content in written] == [None, True, False]


@pytest.mark.parametrize("content", [None, "no JSON", '{"arm": "x"}'])
def test_what_is_no_reference_is_refused_by_name(tmp_path, content):
    file = tmp_path / "gate.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(UnusableInput, match=r"gate\.json"):
        Gate.read(file)


def another_gate(rng, run_noise, effect, start_noise=0.02):
    """Of the same truth; each gate has its own start of the servers."""
    times = world(rng, 4, 8, run_noise, effect)
    times[1] *= rng.lognormal(0, start_noise)
    return interval([8] * 4, total_ratio(times))


def is_slower(now, before):
    return now.high < (1 - MARGIN) * before.low


@pytest.mark.parametrize(("run_noise", "effect"), [(0.03, 0), (0.03, 0.3), (0.1, 0.3)])
def test_a_sound_server_is_called_slower_less_than_once_in_a_hundred(monkeypatch, run_noise, effect):
    """Of 500 pairs of gates at most one; two would come with a probability of .96 if it were once in a hundred."""
    monkeypatch.setattr(module, "RESAMPLES", 300)
    rng = np.random.default_rng(0)
    pairs = [(another_gate(rng, run_noise, effect), another_gate(rng, run_noise, effect)) for _ in range(500)]
    assert sum(is_slower(now, before) for before, now in pairs) <= 1


def test_a_server_that_has_become_much_slower_is_noticed(monkeypatch):
    monkeypatch.setattr(module, "RESAMPLES", 300)
    rng, noticed = np.random.default_rng(0), 0
    for _ in range(100):
        before, now = world(rng, 4, 8, 0.03, 0), world(rng, 4, 8, 0.03, 0)
        now[1] *= 1.4
        noticed += is_slower(interval([8] * 4, total_ratio(now)), interval([8] * 4, total_ratio(before)))
    assert noticed > 90
