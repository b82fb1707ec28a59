"""A gate fails for what is broken, says when it cannot tell, and hardly ever fails a sound server."""

import numpy as np
import pytest

from tests.harness.ledger.planted import LAW, PARITY, cell
from tests.harness.stats.test_interval import total_ratio, world
from tests.plugin.release.example import manifest
from verispec_bench.errors import UnusableInput
from verispec_bench.ledger.gate import Gate, found_in, judge
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


def test_what_a_gate_wrote_is_a_reference(tmp_path):
    found, summary = gate(1.5, 1.3, 1.7)
    file = found.write(tmp_path, judge(found, verification(), summary, None))
    assert Gate.read(file) == Gate.read(tmp_path) == found


@pytest.mark.parametrize("content", [None, "no JSON", '{"arm": "x"}'])
def test_what_is_no_reference_is_refused_by_name(tmp_path, content):
    file = tmp_path / "gate.json"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(UnusableInput, match=r"gate\.json"):
        Gate.read(file)


@pytest.mark.parametrize(("run_noise", "effect"), [(0.03, 0), (0.03, 0.3), (0.1, 0.3)])
def test_a_sound_server_is_called_slower_less_than_once_in_a_hundred(monkeypatch, run_noise, effect):
    """Of 500 pairs of gates; 13 or more would come with a probability of 1e-3 if it were once in a hundred."""
    monkeypatch.setattr(module, "RESAMPLES", 300)
    rng, failed = np.random.default_rng(0), 0
    for _ in range(500):
        before, now = (interval([8] * 4, total_ratio(world(rng, 4, 8, run_noise, effect))) for _ in range(2))
        failed += now.high < before.low
    assert failed < 13


def test_a_server_that_has_become_much_slower_is_noticed(monkeypatch):
    monkeypatch.setattr(module, "RESAMPLES", 300)
    rng, noticed = np.random.default_rng(0), 0
    for _ in range(100):
        before, now = world(rng, 4, 8, 0.03, 0), world(rng, 4, 8, 0.03, 0)
        now[1] *= 1.3
        noticed += interval([8] * 4, total_ratio(now)).high < interval([8] * 4, total_ratio(before)).low
    assert noticed > 90
