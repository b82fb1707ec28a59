"""A scenario whose servers are fakes: real launching, sockets, files; no vLLM."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

FAKE_PYTHON = str(Path(__file__).parents[1] / "fakes" / "python")


def write_scenario(directory: Path, **changes) -> Path:
    """A scenario file in a directory; keyword arguments change it, None leaves a key out."""
    model = directory / "model"
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text("{}")
    ours = {"method": "custom_class", "model": "verispec.engine.Proposer", "num_speculative_tokens": 2}
    scenario = {
        "name": "tiny",
        "model": str(model),
        "server": {"python": FAKE_PYTHON},
        "arms": {"ours": {"speculative": ours}},
        "workloads": ["chat"],
        "load": {"concurrency": [1, 2], "min_requests": 4},
        "warmup_requests": 1,
        "max_foreign_cpu": 1,
    }
    path = directory / "tiny.yaml"
    keys = {key: value for key, value in (scenario | changes).items() if value is not None}
    if "load" in keys:
        keys["load"] = {"blocks": 2, "min_requests": 6} | keys["load"]
    path.write_text(yaml.safe_dump(keys, sort_keys=False))
    return path


@pytest.fixture
def fake_scenario(tmp_path, monkeypatch) -> Callable[..., Path]:
    """Writes a scenario file; `fake` is VERISPEC_FAKE."""

    def write(fake=None, **changes) -> Path:
        monkeypatch.setenv("VERISPEC_FAKE", json.dumps(fake or {}))
        return write_scenario(tmp_path, **changes)

    return write
