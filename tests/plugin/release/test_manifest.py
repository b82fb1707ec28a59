"""The manifest: its hash is that of what defines the contract, and of nothing else."""

import json

import pytest

from tests.plugin.release.example import MACHINE, SERVING, facts, manifest
from verispec.release import Evidence, Manifest


@pytest.mark.parametrize(
    "changes",
    [
        {"target__weights_sha256": "0" * 64},
        {"tokenizer__sha256": "0" * 64},
        {"sampling_defaults__parameters": {"temperature": 0.7}},
        {"logits_processors__custom": ["my.Processor"]},
        {"drafter__options": {"min_match": 4}},
        {"drafter": None},
        {"verifier__rule": "block"},
        {"seams": ["rejection-rule"]},
        {"numerics__dtype": "bfloat16"},
        {"versions__vllm": "0.33.0"},
    ],
)
def test_everything_that_defines_the_contract_changes_its_hash(changes):
    assert manifest(**changes).contract_sha256 != manifest().contract_sha256


def test_limits_machine_and_evidence_do_not_change_the_hash():
    served = facts()
    other = Manifest.of(
        served,
        SERVING.model_copy(update={"max_num_seqs": 32}),
        MACHINE.model_copy(update={"threads": 8}),
        Evidence(contract_sha256=served.sha256(), closed=True, sha256="9" * 64),
    )
    assert other.contract_sha256 == manifest().contract_sha256
    assert (other.contract.kind, manifest().contract.kind) == ("exact", "exact-by-construction")
    assert other.evidence_sha256 == "9" * 64


def test_the_fallback_is_the_same_server_without_speculation():
    """A target-only server's own fallback is itself: the hashes agree, and tell it from any other baseline."""
    target_only = manifest(drafter=None, seams=[], verifier__rule="block")
    assert target_only.fallback == manifest().fallback
    assert manifest(drafter=None, numerics__dtype="bfloat16").fallback.sha256 != manifest().fallback.sha256


def test_it_survives_a_journey_through_json():
    text = json.dumps(manifest().as_dict(), allow_nan=False)
    assert Manifest.model_validate_json(text) == manifest()
    assert Manifest.model_validate_json(text).defined_by.sha256() == manifest().contract_sha256


def test_it_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        manifest().contract_sha256 = "0" * 64
