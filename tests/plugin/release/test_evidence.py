"""Evidence is a file that names the contract it was found for."""

import hashlib
import json

import pytest

from verispec.release import Evidence


def test_it_is_bound_to_a_contract_and_known_by_its_hash(tmp_path):
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"contract_sha256": "a" * 64, "closed": True, "rounds": 812}))
    found = Evidence.read(str(path))
    assert (found.contract_sha256, found.closed) == ("a" * 64, True)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read as evidence"),
        ("[]", "valid dictionary"),
        ('{"closed": true}', "contract_sha256: Field required"),
        ('{"contract_sha256": "abc", "closed": true}', "contract_sha256"),
        (json.dumps({"contract_sha256": "a" * 64, "closed": "yes"}), "closed"),
    ],
)
def test_unusable_evidence_is_refused_in_one_line(tmp_path, content, message):
    path = tmp_path / "state.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message) as refusal:
        Evidence.read(str(path))
    assert str(refusal.value).startswith(str(path))
    assert "\n" not in str(refusal.value)


def test_a_missing_file_is_refused():
    with pytest.raises(ValueError, match=r"no/such\.json: cannot be read as evidence"):
        Evidence.read("no/such.json")
