"""The manifest: everything that identifies a run. Its identity is hashed; a resumed run must have the same."""

import hashlib
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import psutil

from verispec_bench.model import resolve_model
from verispec_bench.record.atomic import finite
from verispec_bench.scenario import Setup
from verispec_bench.server.interpreter import Interpreter
from verispec_bench.workload import Workload


def build_manifest(
    verb: str, scenario: Setup, interpreter: Interpreter, workloads: Mapping[str, Workload]
) -> dict[str, Any]:
    """The manifest before any server was started; `servers` and `complete` are filled in by the run.

    Args:
        verb: what the scenario is used for: one file may serve several.
        workloads: by name.

    """
    identity = {
        "verb": verb,
        "scenario": scenario.model_dump(mode="json"),
        "model": _model_identity(resolve_model(scenario.model)),
        "workloads": {
            name: {
                "prompts": len(source.prompts),
                "sha256": source.digest,
                "shares_prefix": source.shares_prefix,
                "invalid_because": source.not_for_speedup,
            }
            for name, source in workloads.items()
        },
        "versions": interpreter.versions | {"python": interpreter.python, "verispec": version("verispec")},
        "sources_sha256": _sources_digest(),
        "machine": _machine(),
    }
    identity = finite(identity)  # as it will be read again: an infinite burstiness is null
    return {
        "identity": identity,
        "identity_sha256": identity_hash(identity),
        "revision": _git_revision(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "complete": False,
        "servers": {},
    }


def identity_hash(identity: dict[str, Any]) -> str:
    """sha256 of the identity's canonical JSON."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def identity_differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Dotted keys in which two identities differ."""
    keys: list[str] = []

    def walk(ours: Any, theirs: Any, at: str) -> None:
        if isinstance(ours, dict) and isinstance(theirs, dict):
            for key in sorted(ours.keys() | theirs.keys()):
                walk(ours.get(key), theirs.get(key), f"{at}.{key}" if at else key)
        elif ours != theirs:
            keys.append(at)

    walk(before, now, "")
    return keys


def _model_identity(model: str) -> dict[str, Any]:
    """Of a local model: digest of its small files, sizes of the large ones; of a hub id: its name."""
    directory = Path(model)
    if not directory.is_dir():
        return {"name": model}
    digest = hashlib.sha256()
    for path in sorted(directory.iterdir()):
        if path.is_file():
            size = path.stat().st_size
            digest.update(f"{path.name}:{size}:".encode())
            if size < 32 << 20:
                digest.update(path.read_bytes())
    return {"name": directory.name, "sha256": digest.hexdigest()}


def _sources_digest() -> str:
    """sha256 of the Python sources of harness and plugin: the version alone does not tell two checkouts apart."""
    digest = hashlib.sha256()
    for package in ("verispec", "verispec_bench"):
        root = Path(str(files(package)))
        for path in sorted(root.rglob("*.py")):
            digest.update(f"{package}/{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _machine() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_gib": round(psutil.virtual_memory().total / 2**30),
        "system": platform.platform(),
        "gpus": _gpus(),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _gpus() -> list[str]:
    try:
        import pynvml

        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(i) for i in range(pynvml.nvmlDeviceGetCount())]
        return [str(pynvml.nvmlDeviceGetName(handle)) for handle in handles]
    except Exception:  # no NVIDIA driver, or one that is not for us: there is nothing to list
        return []


def _git_revision() -> str | None:
    """The revision that the harness runs from, "-dirty" if changed; None outside a checkout."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip() or None
    except (OSError, subprocess.SubprocessError):
        return None
