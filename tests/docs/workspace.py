"""A directory as the documentation has it: the repository around, and a reader's own scenarios, small here."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from tests.docs.pages import ROOT

SHARED = (".venv", "Makefile", "scenarios", "examples", "notebooks", "pyproject.toml", "requirements")
BACKGROUND_S = 5
SMALL = {"min_requests": 6, "requests_per_stream": 1, "blocks": 2, "output_len": [16], "concurrency": [2]}


def make_workspace(path: Path) -> None:
    """With my.yaml and my-gate.yaml as their pages describe them."""
    for name in SHARED:
        (path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "results" / "reference", path / "results" / "reference")
    _write(path, "my", "adopt", SMALL)
    _write(path, "my-gate", "gate", SMALL | {"blocks": 4})


def run_commands(path: Path, text: str, timeout_s: float, may_end_with: Sequence[int] = (0,)) -> str:
    """By a shell that ends at the first failure; make only says what it would do; what is in the background ends.

    Returns:
        What they said to stdout.

    """
    waiting = text.replace("&\n", f"&\nsleep {BACKGROUND_S}\n")
    script = f"set -e\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{waiting}"
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "MAKEFLAGS": "n", "COLUMNS": "200"
    }  # fmt: skip
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode in may_end_with, (
        f"{text}\nended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    )
    return done.stdout


def _write(path: Path, name: str, source: str, load: dict[str, object]) -> None:
    scenario = yaml.safe_load((ROOT / "scenarios" / f"{source}.yaml").read_text(encoding="utf-8"))
    scenario["server"]["args"] = scenario["server"].get("args", {}) | {"enforce-eager": True}  # starts sooner
    scenario["server"]["max_num_seqs"] = 4  # the most that `calibrate` goes up to
    scenario["exactness"] |= {"completions": 192, "max_tv": 0.3}
    scenario["parity"] |= {"prompts": 6, "tokens": 16, "envelope_prompts": 4}
    scenario["load"] |= load
    (path / f"{name}.yaml").write_text(yaml.safe_dump(scenario), encoding="utf-8")
