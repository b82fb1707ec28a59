"""A scenario whose servers are fakes: real launching, sockets, files; no vLLM."""

import json
from pathlib import Path

import pytest
import yaml

FAKE_PYTHON = str(Path(__file__).parents[2] / "fakes" / "python")


@pytest.fixture
def fake_scenario(tmp_path, monkeypatch):
    """Writes a scenario file; keyword arguments change it; `fake` is VERISPEC_FAKE."""

    def write(name="tiny.yaml", fake=None, **changes) -> Path:
        monkeypatch.setenv("VERISPEC_FAKE", json.dumps(fake or {}))
        model = tmp_path / "model"
        model.mkdir(exist_ok=True)
        (model / "config.json").write_text("{}")
        ours = {"method": "custom_class", "model": "verispec.engine.Proposer", "num_speculative_tokens": 2}
        path = tmp_path / name
        path.write_text(
            yaml.safe_dump(
                {
                    "name": "tiny",
                    "model": str(model),
                    "server": {"python": FAKE_PYTHON},
                    "arms": {"ours": {"speculative": ours}},
                    "workloads": ["chat"],
                    "load": {"concurrency": [1, 2], "min_requests": 4},
                    "warmup_requests": 1,
                    "max_foreign_cpu": 1,
                }
                | changes
            )
        )
        return path

    return write
