"""Two manifests: what differs, and whether it defines the contract."""

import pytest

from tests.plugin.release.example import DRAFT_MODEL, facts, manifest, without
from verispec.release import Evidence
from verispec_bench.release import compare, defines_contract


def keys(first, second) -> list[str]:
    return [found.key for found in compare(first.as_dict(), second.as_dict())]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"target__weights_sha256": "0" * 64}, "defined_by.target.weights_sha256"),
        ({"tokenizer__sha256": "0" * 64}, "defined_by.tokenizer.sha256"),
        ({"drafter__options": {"min_match": 4}}, "defined_by.drafter.options.min_match"),
        ({"drafter__name": "my.Drafter"}, "defined_by.drafter.name"),
        ({"verifier__rule": "block"}, "defined_by.verifier.rule"),
        ({"seams": without("draft-room")}, "defined_by.seams.draft-room"),
        ({"numerics__kv_cache_dtype": "fp8"}, "defined_by.numerics.kv_cache_dtype"),
        ({"sampling_defaults__parameters": {}}, "defined_by.sampling_defaults.parameters.temperature"),
    ],
)
def test_what_defines_the_contract_is_named(changes, key):
    found = compare(manifest().as_dict(), manifest(**changes).as_dict())
    assert [difference.key for difference in found] == [key]
    assert defines_contract(found)


def test_the_same_server_twice_has_no_difference():
    assert keys(manifest(), manifest()) == []


def test_another_machine_is_another_machine_and_the_same_contract():
    other = manifest().as_dict()
    other["machine"] = other["machine"] | {"threads": 64}
    found = compare(manifest().as_dict(), other)
    assert [(difference.key, difference.defines_contract) for difference in found] == [("machine.threads", False)]
    assert not defines_contract(found)


def test_evidence_changes_the_kind_of_the_contract_but_not_its_hash():
    evidence = Evidence(contract_sha256=facts().sha256(), closed=True, sha256="9" * 64)
    assert manifest(evidence).contract_sha256 == manifest().contract_sha256
    found = compare(manifest().as_dict(), manifest(evidence).as_dict())
    assert [(difference.key, difference.defines_contract) for difference in found] == [
        ("contract.kind", True),
        ("evidence_sha256", False),
    ]


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"target__weights_sha256": None}, "defined_by.target.weights_sha256"),
        ({"tokenizer__sha256": None}, "defined_by.tokenizer.sha256"),
        ({"drafter__model": DRAFT_MODEL | {"weights_sha256": None}}, "defined_by.drafter.model.weights_sha256"),
    ],
)
def test_two_unknowns_are_not_two_equals(changes, key):
    (found,) = compare(manifest(**changes).as_dict(), manifest(**changes).as_dict())
    assert str(found) == f"{key}: not known of either"
    assert found.defines_contract


def test_no_tokenizer_and_no_drafter_are_known_to_be_none():
    changes = {"tokenizer": None, "drafter": None}
    assert keys(manifest(**changes), manifest(**changes)) == []


def test_a_target_only_server_differs_from_a_speculative_one_in_its_drafter_alone():
    found = compare(manifest().as_dict(), manifest(drafter=None).as_dict())
    names = {difference.key.split(".")[1] for difference in found}
    assert names == {"drafter", "kind"}
    assert ("defined_by.drafter", None, None) not in [(d.key, d.first, d.second) for d in found]
