"""Is everything there that a sweep needs? One line for each check, with its remedy."""

import json
import subprocess
from dataclasses import dataclass

from verispec_bench.errors import VerispecError
from verispec_bench.model import DEFAULT_MODEL, resolve_model
from verispec_bench.server import Interpreter, probe_interpreter

_SEAMS = """
import json, sys
from verispec.engine import seams
results = []
def run(name, why, check):
    try: check(); results.append([name, True, why])
    except Exception as error: results.append([name, False, str(error)])
run("vllm-version", "supported", seams.check_version)
for seam in seams.SEAMS: run(seam.name, seam.why, seam.check)
print("\\n" + json.dumps(results))
"""


@dataclass(frozen=True)
class Check:
    """One finding.

    Attributes:
        name: what was looked at.
        good: whether it will do.
        detail: what was found, or what to do.

    """

    name: str
    good: bool
    detail: str


def diagnose(python: str | None = None) -> list[Check]:
    """Look at the interpreter, vLLM, the plugin, each seam, and the default model."""
    try:
        interpreter = probe_interpreter(python)
    except VerispecError as error:
        return [Check("interpreter", False, str(error))]
    checks = [
        Check("interpreter", True, f"{interpreter.executable} (Python {interpreter.python})"),
        Check("vllm", True, f"{interpreter.vllm}, built for {interpreter.device}"),
        Check(
            "plugin",
            interpreter.has_plugin,
            f"verispec {interpreter.versions['verispec']}"
            if interpreter.has_plugin
            else f"not installed there; run: {interpreter.executable} -m pip install --no-deps -e .",
        ),
    ]
    if interpreter.has_plugin:
        checks += _seams(interpreter)
    return [*checks, _model()]


def _seams(interpreter: Interpreter) -> list[Check]:
    """Ask the server's interpreter whether each seam fits its vLLM (imports vLLM: takes seconds)."""
    try:
        result = subprocess.run([interpreter.executable, "-c", _SEAMS], capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [Check("seams", False, f"vLLM cannot be imported in the server's interpreter: {type(error).__name__}")]
    try:
        found = json.loads(result.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        said = result.stderr.strip().splitlines() or ["no reason given"]
        return [Check("seams", False, f"vLLM cannot be imported in the server's interpreter: {said[-1]}")]
    return [Check(f"seam {name}", good, detail) for name, good, detail in found]


def _model() -> Check:
    try:
        return Check("model", True, resolve_model(DEFAULT_MODEL))
    except VerispecError as error:
        return Check("model", False, str(error))
