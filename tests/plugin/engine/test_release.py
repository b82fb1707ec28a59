"""How values are written in a manifest, and when there is none."""

import math
from types import SimpleNamespace

import pytest
import torch

from verispec.engine import release
from verispec.settings import Settings


def test_what_json_lacks_is_written_out():
    value = {"dtype": torch.float32, "ids": {3, 1, 2}, "scale": math.inf, "pair": (1, None), "_name_or_path": "/x"}
    assert release._plain(value, left_out=("_name_or_path",)) == {
        "dtype": "torch.float32",
        "ids": [1, 2, 3],
        "scale": "inf",
        "pair": [1, None],
    }


def test_there_is_no_manifest_where_verispec_is_not_active(monkeypatch):
    monkeypatch.setattr(release, "_current", None)
    assert release.manifest_of(None) is None


def test_evidence_that_cannot_be_used_stops_the_start(tmp_path):
    settings = Settings(evidence=str(tmp_path / "state.json"))
    with pytest.raises(ValueError, match=r"--additional-config: verispec\.evidence: .*state\.json: cannot be read"):
        release.Release(SimpleNamespace(speculative_config=None), settings, named=True)


@pytest.mark.parametrize("named", [True, False])
def test_another_vocabulary_stops_a_server_that_asks_for_verispec_and_no_other(monkeypatch, named):
    monkeypatch.setattr(release, "another_vocabulary", lambda config: "the draft model has another vocabulary")
    config = SimpleNamespace(speculative_config=None)
    if named:
        with pytest.raises(ValueError, match="another vocabulary"):
            release.Release(config, Settings(), named=True)
    else:
        release.Release(config, Settings(), named=False)
