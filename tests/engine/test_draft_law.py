"""A real draft model that samples: its law q reaches the verifier, and what is served follows the target's law."""

from pathlib import Path

import pytest
from scipy.stats import chi2

from tests.engine.conftest import run_json
from tests.engine.draft_law import KINDS
from tests.engine.models import make_first_layer

LEVEL = 1e-3 / (3 * len(KINDS))
"""Of each test: all together raise a false alarm in at most one suite of a thousand."""


@pytest.fixture(scope="module")
def report(tiny_model, tmp_path_factory):
    draft = tmp_path_factory.mktemp("first-layer")
    make_first_layer(draft, Path(tiny_model))
    speculative = {
        "method": "draft_model",
        "model": str(draft),
        "num_speculative_tokens": 3,
        "draft_sample_method": "probabilistic",
    }
    patient = {
        "fallback": {"stall_s": 600, "cooldown_s": 1e-9},
        "control": {"mode": "fixed"},
    }  # whatever happens, it drafts again in the next step
    options = {"speculative_config": speculative, "additional_config": {"verispec": patient}}
    return run_json("tests.engine.draft_law", tiny_model, options)


@pytest.mark.parametrize("run", ["token", "block", "broken"])
@pytest.mark.parametrize("transformation", KINDS)
def test_the_served_law_is_the_targets(report, run, transformation):
    """Also where q is broken: its drafts are then point masses."""
    deviation = report[run]["laws"][transformation]
    assert not deviation["excluded"]
    assert deviation["degrees_of_freedom"] > 10
    assert chi2.sf(deviation["chi_square"], deviation["degrees_of_freedom"]) > LEVEL


@pytest.mark.parametrize("rule", ["token", "block"])
def test_drafts_are_verified_against_the_draft_models_own_law(report, rule):
    assert report[rule]["counters"]["accepted_tokens"] > 500
    assert report[rule]["counters"]["rows_with_draft_probs"] > 0.8 * report[rule]["counters"]["drafted_tokens"]
    assert not any(report[rule]["trips"].values())


def test_a_law_that_excludes_its_drafts_is_a_reason_to_fall_back(report):
    assert report["broken"]["trips"]["rule-check"] > 5
    assert report["broken"]["counters"]["rows_with_draft_probs"] == 0
