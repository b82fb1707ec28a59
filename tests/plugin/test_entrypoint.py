"""register() costs nothing, may be called again, and does nothing when switched off."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
from importlib.metadata import entry_points
(plugin,) = entry_points(group="vllm.general_plugins", name="verispec")
register = plugin.load()
register(); register()
print([m for m in ("vllm", "torch", "verispec.engine") if m in sys.modules])
import wrapt, types
module = types.ModuleType("vllm.v1.worker.gpu_model_runner")
import verispec.engine.install as install
calls = []
install.watch_model_runner = lambda: calls.append(1)
wrapt.notify_module_loaded(module)
print(len(calls))
"""


@pytest.mark.parametrize(("switch", "calls"), [("", "1"), ("1", "0")])
def test_register_is_lazy_idempotent_and_can_be_switched_off(switch, calls):
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env={"VERISPEC_DISABLE": switch, "PATH": ""}
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split("\n")[:2] == ["[]", calls]


def test_what_is_loaded_with_the_plugin_needs_no_numba():
    """A vLLM worker on CPUs does not start where numba was imported before it."""
    script = (
        "import sys, verispec.entrypoint, verispec.engine.install, verispec.engine.proposer, verispec.engine.status;"
        "print([name for name in sys.modules if name.partition('.')[0] == 'numba'])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "[]", result.stderr
