"""A sweep and a verification of a server that does not exist, with whatever is planted in them."""

import json
from pathlib import Path
from typing import Any

from tests.harness.report.test_report import comparison
from tests.plugin.release.example import manifest

SERVER = {
    "argv": ["python", "-m", "vllm.entrypoints.openai.api_server", "--model", "/models/my target", "--host", "::1",
             "--port", "8000", "--served-model-name", "m", "--max-num-seqs", "16", "--speculative-config", '{"a": 1}'],
    "env": {"VLLM_PLUGINS": "verispec", "OMP_NUM_THREADS": "2", "VERISPEC_DISABLE": "0", "VLLM_SERVER_DEV_MODE": "1"},
}  # fmt: skip
TARGET_ONLY = {"argv": SERVER["argv"][:-2], "env": {"OMP_NUM_THREADS": "2", "VERISPEC_DISABLE": "1"}}
LAW = {"arm": "x", "verdict": "closed", "reasons": [], "tv": 0.01, "tv_floor": 0.009, "tv_upper_95": 0.02}
PARITY = {
    "arm": "x", "verdict": "closed", "closed": True, "reasons": [], "identical": 324, "compared": 324, "near_ties": 0,
    "identical_rate": 1.0, "unexplained": 0, "draft_tokens": 5000, "accepted_tokens": 2000,
}  # fmt: skip


def cell(name="a", *values, **fields):
    return comparison(*values, **({"cell": name, "p95_tpot_ratio": 0.9} | fields))


def sweep(path: Path, *cells: dict[str, Any], complete: bool = True, **facts: Any) -> Path:
    """The directory of a sweep; `facts` of its server as in tests.plugin.release.example."""
    release = manifest(**facts).as_dict()
    servers = {"target-only": TARGET_ONLY, "x": SERVER | {"release": release}}
    _write(path / "manifest.json", {"identity": {}, "identity_sha256": "", "complete": complete, "servers": servers})
    _write(path / "summary.json", {"complete": complete, "comparisons": list(cells)})
    return path


def verification(path: Path, law: dict | None = None, parity: dict | None = None, **facts: Any) -> Path:
    """The directory of a verification; what is planted replaces what is in LAW and PARITY."""
    release = manifest(**facts).as_dict()
    servers = {"x": SERVER | {"release": release}}
    _write(path / "manifest.json", {"identity": {}, "identity_sha256": "", "complete": True, "servers": servers})
    found = {"tests": [LAW | (law or {})], "parity": {"arms": [PARITY | (parity or {})]}}
    _write(path / "verify.json", found)
    return path


def _write(path: Path, content: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
