"""The contract follows from the facts: each condition, and what becomes of the contract without it."""

import pytest

from tests.plugin.release.example import DRAFT_MODEL, facts, without
from verispec.engine.seams import SEAMS
from verispec.release import Evidence, contract_of

RULE = "rejection-rule"
VLLMS = "vllm.v1.sample.rejection_sampler.rejection_sample"
NGRAM = {"method": "ngram", "name": None, "options": {}, "num_speculative_tokens": 4, "model": None}
MODEL = NGRAM | {"method": "draft_model", "name": "owner/draft", "model": DRAFT_MODEL}
HEADS = MODEL | {"method": "eagle"}
LAW = (
    "token-spaces", "sampling-parameters", "min-p-and-bias", "min-tokens", "custom-processors", "grammar", "rule"
)  # fmt: skip


def holding(contract) -> dict[str, bool | None]:
    return {entry.name: entry.holds for entry in contract.because}


def evidence_for(served, closed=True) -> Evidence:
    return Evidence(contract_sha256=served.sha256(), closed=closed, sha256="9" * 64)


def test_a_server_with_everything_in_place_is_exact_by_construction():
    contract = contract_of(facts())
    assert contract.kind == "exact-by-construction"
    assert holding(contract) == dict.fromkeys((*LAW, "random-state", "draft-state"), True) | {"target-state": None}


def test_evidence_of_rollback_makes_it_exact():
    assert contract_of(facts(), evidence_for(facts())).kind == "exact"


def test_evidence_of_a_leak_blocks_it():
    contract = contract_of(facts(), evidence_for(facts(), closed=False))
    assert contract.kind == "blocked"
    assert holding(contract)["target-state"] is False


def test_evidence_for_another_server_counts_for_nothing():
    other = facts(verifier__rule="block")
    contract = contract_of(facts(), evidence_for(other))
    assert contract.kind == "exact-by-construction"
    assert "another contract" in contract.because[-1].why


@pytest.mark.parametrize(
    ("entry", "changes"),
    [
        ("rule", {"verifier__rule": "typical", "verifier__rule_is_exact": False}),
        ("rule", {"verifier__sample_method": "synthetic"}),
        ("sampling-parameters", {"seams": without("sampling-parameters")}),
        ("min-p-and-bias", {"seams": without("processors-at-drafts")}),
        ("min-p-and-bias", {"seams": without("logits-processors")}),
        ("custom-processors", {"logits_processors__custom": ["my.Processor"], "seams": without("drafts")}),
        (
            "custom-processors",
            {"logits_processors__custom": ["my.Processor"], "logits_processors__all_accepted": False},
        ),
        ("min-tokens", {"seams": without("sampling-step")}),
        ("grammar", {"seams": without("draft-probabilities")}),
    ],
)
def test_a_condition_of_the_law_that_does_not_hold_makes_it_approximate(entry, changes):
    contract = contract_of(facts(**changes))
    assert contract.kind == "approximate"
    assert [name for name in LAW if holding(contract)[name] is not True] == [entry]
    assert holding(contract)[entry] is False


@pytest.mark.parametrize(
    ("entry", "changes"),
    [
        ("rule", {"seams": without(RULE), "verifier__function": "other.plugin.sample"}),
        ("rule", {"seams": without(RULE), "verifier__function": VLLMS, "verifier__sample_method": "fly"}),
        ("token-spaces", {"drafter": MODEL | {"model": DRAFT_MODEL | {"vocabulary_sha256": "0" * 64}}}),
        ("token-spaces", {"drafter": MODEL | {"model": DRAFT_MODEL | {"vocabulary_sha256": None}}}),
        ("token-spaces", {"drafter": MODEL, "target__vocabulary_sha256": None}),
        ("token-spaces", {"drafter": HEADS | {"model": DRAFT_MODEL | {"vocab_size": 8}}}),
    ],
)
def test_a_condition_of_the_law_that_is_not_known_makes_it_unknown(entry, changes):
    contract = contract_of(facts(**changes), evidence_for(facts(**changes)))
    assert contract.kind == "unknown"
    assert [name for name in LAW if holding(contract)[name] is not True] == [entry]
    assert holding(contract)[entry] is None


@pytest.mark.parametrize(
    "changes",
    [
        {"seams": without("sampling-parameters"), "numerics__device": "cuda"},
        {"seams": without(RULE), "verifier__function": VLLMS},
        {"seams": without("processors-at-drafts"), "logits_processors__all_accepted": False},
        {"logits_processors__custom": ["my.Processor"]},
        {"drafter": NGRAM, "seams": without("draft-probabilities")},
        {"drafter": MODEL},
        {"drafter": HEADS},
        {"drafter": None, "seams": []},
    ],
)
def test_what_is_not_needed_for_the_law_is_not_missed(changes):
    assert all(holding(contract_of(facts(**changes)))[name] for name in LAW)


def test_a_rule_that_is_not_in_place_is_not_counted_whatever_the_settings_name():
    contract = contract_of(facts(seams=without(RULE), verifier__function="other.plugin.sample", verifier__rule="token"))
    assert contract.kind == "unknown"
    assert "other.plugin.sample" in next(entry.why for entry in contract.because if entry.name == "rule")


@pytest.mark.parametrize("seam", ["own-draws", "bookkeeping"])
def test_without_keyed_draws_the_random_state_is_not_known_to_roll_back(seam):
    contract = contract_of(facts(seams=without(seam)))
    assert holding(contract)["random-state"] is None
    assert contract.kind == "exact-by-construction"


@pytest.mark.parametrize("drafter", [MODEL, {**NGRAM, "method": "verispec", "name": "my.Drafter"}])
def test_a_drafter_with_a_state_of_its_own_needs_evidence(drafter):
    served = facts(drafter=drafter)
    assert holding(contract_of(served))["draft-state"] is None
    assert contract_of(served, evidence_for(served)).kind == "exact"


def test_a_target_only_server_is_exact():
    contract = contract_of(facts(drafter=None, seams=[]))
    assert contract.kind == "exact"
    assert {entry.why for entry in contract.because} == {"nothing is drafted"}


def test_every_seam_that_the_contract_asks_for_is_declared():
    """The example's names are the engine's: a renamed seam would be missed for ever."""
    assert set(facts().seams) <= {seam.name for seam in SEAMS}
