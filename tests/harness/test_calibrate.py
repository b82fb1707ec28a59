"""`calibrate` probes a server at every batch size, and writes what it says of its steps, as the plugin reads it."""

import json

import pytest

from tests.harness.conftest import FAKE_PYTHON
from tests.harness.sweep.test_sweep import verispec
from verispec.control import Calibration
from verispec_bench.calibrate import batch_sizes

CONTROL = {
    "identity": {"model": "tiny", "device": "abacus"},
    "choices": {},
    "costs": {
        "tokens": [1, 2, 8],
        "seconds": [0.05, 0.06, 0.09],
        "steps": [100.0, 50.0, 10.0],
        "kv_token_s": 1e-6,
        "request_s": 1e-4,
        "drafts_s": 1e-3,
        "prompt_token_s": -4e-4,
    },
}
SERVER = {"control": CONTROL, "answer_tokens": 4, "chunk_s": 0.001}


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("most", "sizes"), [(1, [1]), (2, [1, 2]), (16, [1, 2, 4, 8, 16]), (20, [1, 2, 4, 8, 16, 20])])
def test_batch_sizes_double_up_to_the_limit(most, sizes):
    assert batch_sizes(most) == sizes


def test_what_is_written_is_what_the_plugin_reads(fake_scenario, tmp_path):
    scenario = fake_scenario({"server": SERVER}, server={"python": FAKE_PYTHON, "max_num_seqs": 4})
    result = verispec("calibrate", str(scenario), "--out", str(tmp_path / "costs.json"))
    assert result.returncode == 0, result.stderr
    calibration = Calibration.read(str(tmp_path / "costs.json"))
    assert calibration.identity == CONTROL["identity"]
    assert calibration.costs.model_dump() == CONTROL["costs"]
    assert (tmp_path / "costs.png").stat().st_size > 1000
    assert "measuring steps of 4 requests" in result.stderr
    assert "11.25" in result.stdout  # 90 ms for 8 tokens


def test_for_programs_it_prints_the_file(fake_scenario, tmp_path):
    scenario = fake_scenario({"server": SERVER}, server={"python": FAKE_PYTHON, "max_num_seqs": 1})
    result = verispec("calibrate", str(scenario), "--json")
    assert json.loads(result.stdout) == json.loads((tmp_path / "results/calibration/tiny-ours.json").read_text())


def test_a_server_that_has_measured_nothing_is_a_failure(fake_scenario, tmp_path):
    server = SERVER | {"control": CONTROL | {"costs": None}}
    scenario = fake_scenario({"server": server}, server={"python": FAKE_PYTHON, "max_num_seqs": 1})
    result = verispec("calibrate", str(scenario))
    assert result.returncode == 3
    assert "measured no step" in result.stderr
