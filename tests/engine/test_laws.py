"""The law of three served tokens is the target's, for every drafter, rule and sampling transformation."""

from functools import cache
from math import sqrt

import pytest
from scipy.stats import chi2, norm

from tests.engine.conftest import run_json
from tests.engine.laws import TRANSFORMATIONS

OURS = {"method": "custom_class", "model": "verispec.engine.Proposer", "num_speculative_tokens": 3}
NGRAM = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_min": 1, "prompt_lookup_max": 3}
PATIENT = {"fallback": {"stall_s": 600, "min_acceptance": 0}, "control": {"mode": "fixed"}}
"""Nothing is a reason to fall back here, or to draft less: the machine may be busy, and few of these are kept."""
BIGRAM = {"drafter": "tests.engine.drafters.Bigram", "drafter_options": {"vocab_size": 16}} | PATIENT
SUFFIX = {"drafter": "suffix"} | PATIENT
ARMS = {
    "bigram": ({"speculative_config": OURS, "additional_config": {"verispec": BIGRAM}}, ["block", "gumbel"], "law"),
    "suffix": ({"speculative_config": OURS, "additional_config": {"verispec": SUFFIX}}, ["token", "block"]),
    "vllm's n-gram": ({"speculative_config": NGRAM, "additional_config": {"verispec": PATIENT}}, ["token", "gumbel"]),
}
CONTROLLED = ("controlled", "controlled, drawn suffix", "controlled, copied suffix")
RUNS = [
    ("bigram", "with q"),
    ("bigram", "as point masses"),
    *[("bigram", run) for run in CONTROLLED],
    *[(arm, rule) for arm, (_, rules, *_) in ARMS.items() for rule in rules],
]
"""(drafter, rule); what the bigram engine runs under other names is under the token rule."""
SUITE_LEVEL = 1e-3
LEVEL = SUITE_LEVEL / (len(RUNS) * len(TRANSFORMATIONS) + 2)
"""Of each test: the whole matrix raises a false alarm in at most one suite of a thousand (Bonferroni ≥ Holm)."""


@pytest.fixture(scope="module")
def reports(tiny_model):
    """The report of a drafter, by its name: one engine for each, started when it is first asked for."""

    @cache
    def report(arm):
        options, rules, *more = ARMS[arm]
        return run_json("tests.engine.laws", tiny_model, options, rules, *more)

    return report


def p_value(deviation) -> float:
    """0 if something came that the law excludes."""
    return 0.0 if deviation["excluded"] else float(chi2.sf(deviation["chi_square"], deviation["degrees_of_freedom"]))


def pooled_p_value(deviations) -> float:
    """Of all transformations together: their χ² are independent, so they add up."""
    return p_value({key: sum(each[key] for each in deviations) for key in next(iter(deviations))})


@pytest.mark.parametrize(("arm", "rule"), RUNS)
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
def test_the_served_law_is_the_targets(reports, arm, rule, transformation):
    run = reports(arm)[rule]
    assert run["counters"]["accepted_tokens"] > 500
    assert run["laws"][transformation]["degrees_of_freedom"] > 10
    assert p_value(run["laws"][transformation]) > LEVEL


def test_a_mistake_planted_in_the_engine_is_caught(reports):
    """The q that is sent is not the one that drafts were drawn from: some transformation shows it, all together surely.

    How far each one alone deviates is chance: which are caught differs from machine to machine.
    """
    planted, sound = (reports("bigram")[run]["laws"].values() for run in ("planted", "with q"))
    assert min(map(p_value, planted)) < LEVEL
    assert pooled_p_value(planted) < 1e-9
    assert pooled_p_value(sound) > LEVEL


def test_a_true_q_is_kept_as_often_as_it_overlaps_the_target(reports):
    first = reports("bigram")["with q"]["first_drafts"]
    assert first["drafts"] > 10_000
    z = (first["kept"] - first["overlap"]) / sqrt(first["variance"])
    assert 2 * norm.sf(abs(z)) > LEVEL


def test_a_true_q_is_kept_more_often_than_the_same_drafts_as_point_masses(reports):
    with_q, without = (reports("bigram")[run]["first_drafts"] for run in ("with q", "as point masses"))
    assert with_q["kept"] / with_q["drafts"] > 2 * without["kept"] / without["drafts"]
    assert reports("bigram")["with q"]["counters"]["rows_with_draft_probs"] > 10_000
    assert reports("bigram")["as point masses"]["counters"]["rows_with_draft_probs"] == 0


@pytest.mark.parametrize("run", CONTROLLED)
def test_the_controller_has_cut_drafts_where_the_law_was_tested(reports, run):
    """It held back many and submitted many, and drafts whose law was drawn from were among them."""
    choices = reports("bigram")[run]["choices"]
    assert choices["submitted_tokens"] > 1000
    assert choices["offered_tokens"] - choices["submitted_tokens"] > 1000
    rows_with_q = reports("bigram")[run]["counters"]["rows_with_draft_probs"]
    assert (rows_with_q == 0) == (run == "controlled, copied suffix")


def test_seeded_requests_of_all_point_mass_drafters_are_answered_alike(reports):
    """Their keys are the same, so their texts are: even the statistic is the same number."""
    runs = (("suffix", "token"), ("suffix", "block"), ("vllm's n-gram", "token"), ("vllm's n-gram", "gumbel"))
    assert len({reports(arm)[rule]["laws"]["seeded"]["chi_square"] for arm, rule in runs}) == 1
