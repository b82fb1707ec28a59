"""The command line and environment of one arm's server. Both arms are built here, so that only speculation differs."""

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verispec.drafting import DRAFTERS, DrafterError, make_drafter
from verispec.settings import CONFIG_KEY, DISABLE_VARIABLE, Settings
from verispec_bench.errors import InfrastructureFailed, UnusableInput
from verispec_bench.model import resolve_model
from verispec_bench.scenario import Setup
from verispec_bench.scenario.servers import BASELINE, DEFAULT_BASELINE, FlagValue
from verispec_bench.server.interpreter import Interpreter

PLUGINS_VARIABLE = "VLLM_PLUGINS"
RUNNER_VARIABLE = "VLLM_USE_V2_MODEL_RUNNER"
COUNTERS_ONLY = {CONFIG_KEY: {"counters_only": True}}
"""Settings of a baseline whose steps are timed."""


@dataclass(frozen=True)
class ServerCommand:
    """How to start a server.

    Attributes:
        argv: the command.
        env: variables that are set on top of the harness's own environment.
        model: the id under which the model is served.

    """

    argv: list[str]
    env: dict[str, str]
    model: str

    def shell_line(self) -> str:
        """For people and their terminals."""
        variables = " ".join(f"{name}={shlex.quote(value)}" for name, value in self.env.items())
        return f"{variables} {shlex.join(self.argv)}"


def server_command(
    scenario: Setup, arm: str, interpreter: Interpreter, port: int, seed: int | None = None
) -> ServerCommand:
    """The server of an arm of a scenario.

    Args:
        seed: of the server's own random numbers; default: vLLM's, the same at every start.

    Raises:
        UnusableInput: no such arm or model, or an environment that would lock the plugin out.
        InfrastructureFailed: the plugin is not installed in the server's interpreter.

    """
    if arm not in scenario.all_arms:
        raise UnusableInput(f"scenario {scenario.name}: no arm {arm!r}; it has {', '.join(scenario.all_arms)}")
    spec = scenario.arms.get(arm)
    model = resolve_model(scenario.model)
    flags: dict[str, FlagValue] = {
        "model": model,
        "served-model-name": scenario.model,
        "host": "127.0.0.1",
        "port": port,
        "dtype": scenario.server.dtype,
        "max-model-len": scenario.server.max_model_len,
        "max-num-seqs": scenario.server.max_num_seqs,
    }
    matched = arm != DEFAULT_BASELINE
    if interpreter.device == "gpu" and matched:
        flags["async-scheduling"] = False  # a custom proposer turns it off
    flags |= {name.replace("_", "-"): value for name, value in scenario.server.args.items()}
    if seed is not None:
        flags["seed"] = seed
    env = _environment(interpreter, matched) | scenario.server.env
    if Path(model).is_dir():
        env.setdefault("HF_HUB_OFFLINE", "1")
    if spec:
        flags["speculative-config"] = _resolved(spec.speculative)
        flags["per-request-spec-decode-metrics"] = "detailed"
        if spec.verispec:
            refuse_unusable_drafter(arm, spec.verispec)
            flags["additional-config"] = {CONFIG_KEY: spec.verispec.model_dump()}
        if spec.speculative.get("method") == "custom_class":
            _refuse_model_runner_v2(env)
    counted = scenario.count_steps and arm == BASELINE
    if counted:
        flags["additional-config"] = COUNTERS_ONLY
        _refuse_model_runner_v2(env)
    plugin = counted or bool(spec and spec.plugin)
    # Development mode for /server_info, to read the settings back; the server listens on loopback only.
    env |= {DISABLE_VARIABLE: "0" if plugin else "1", "VLLM_SERVER_DEV_MODE": "1"}
    if plugin and not interpreter.has_plugin:
        raise InfrastructureFailed(
            f"the verispec plugin is not installed in the server's interpreter {interpreter.executable}; "
            f"run: {interpreter.executable} -m pip install --no-deps -e ."
        )
    if plugin and "verispec" not in env[PLUGINS_VARIABLE].split(","):
        raise UnusableInput(
            f"{PLUGINS_VARIABLE}={env[PLUGINS_VARIABLE]} locks verispec out; add it or unset the variable"
        )
    argv = [interpreter.executable, "-m", "vllm.entrypoints.openai.api_server"]
    for flag, value in flags.items():
        argv += _flag(flag, value)
    return ServerCommand(argv, env, scenario.model)


def _resolved(speculative: dict[str, Any]) -> dict[str, Any]:
    """A speculative config whose draft model is named as vLLM can load it; other methods load none."""
    if "model" not in speculative or speculative.get("method") in ("custom_class", "ngram", "suffix"):
        return speculative
    return speculative | {"model": resolve_model(speculative["model"])}


def refuse_unusable_drafter(arm: str, settings: Settings) -> None:
    """What is wrong with a drafter of the project's own is known before its server is started.

    A user's own class may be there where the server runs only.

    Raises:
        UnusableInput: no such drafter, or it refuses the options.

    """
    if "." in settings.drafter or not (settings.drafter_options or settings.drafter not in DRAFTERS):
        return
    try:
        make_drafter(settings.drafter, settings.drafter_options)
    except ImportError:
        return  # it needs numba or torch: the server's interpreter has them
    except DrafterError as error:
        raise UnusableInput(f"arm {arm}: {error}") from error
    except Exception as error:
        raise UnusableInput(f"arm {arm}: drafter_options of {settings.drafter!r}: {error}") from error


def _refuse_model_runner_v2(env: dict[str, str]) -> None:
    value = env.get(RUNNER_VARIABLE, os.environ.get(RUNNER_VARIABLE, "0"))
    if value.lower() not in ("0", "false", ""):
        raise UnusableInput(
            f"{RUNNER_VARIABLE}={value}: Model Runner V2 has no custom proposers, and verispec's clocks do not fit it; "
            "set it to 0 or unset it"
        )


def _flag(name: str, value: FlagValue) -> list[str]:
    name = name.replace("_", "-")
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    return [f"--{name}", json.dumps(value) if isinstance(value, dict | list) else str(value)]


def _environment(interpreter: Interpreter, matched: bool) -> dict[str, str]:
    """What all arms get, but for the runner of a GPU's deployment default; the caller's own environment wins."""
    defaults = {
        PLUGINS_VARIABLE: ",".join(interpreter.plugins),  # all of them, by name: endpoint plugins load only by name
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
    }
    if interpreter.device == "cpu":
        defaults |= {
            "VLLM_CPU_KVCACHE_SPACE": "2",
            "VLLM_CPU_OMP_THREADS_BIND": ",".join(map(str, sorted(os.sched_getaffinity(0)))),
            "VLLM_USE_AOT_COMPILE": "0",  # 0.32 cannot load the model that it saved and compiles again at every start
            # vLLM's n-gram drafter is parallel code of numba. With numba's OpenMP threads beside PyTorch's, every pass
            # of the model over a prompt took twice as long (0.32, two cores), whatever was drafted.
            "NUMBA_THREADING_LAYER": "workqueue",
        }
        if libraries := _preloads(interpreter):
            defaults["LD_PRELOAD"] = ":".join(libraries)
    elif matched:
        defaults[RUNNER_VARIABLE] = "0"
    return {name: os.environ.get(name, value) for name, value in defaults.items()}


def _preloads(interpreter: Interpreter) -> list[str]:
    """The libraries that vLLM's log advises to preload on CPUs, where they are installed."""
    system = [Path(root) / "libtcmalloc_minimal.so.4" for root in ("/usr/lib/x86_64-linux-gnu", "/usr/lib64")]
    openmp = interpreter.prefix / "lib" / "libiomp5.so"
    return [str(path) for path in (*system, openmp) if path.is_file()]
