"""Real engines: a tiny random target for laws and state, and the default model behind real servers."""

import asyncio
import json
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.engine.models import make_byte_model, make_first_layer, make_letter_model

ROOT = Path(__file__).parents[2]


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.engine)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory) -> str:
    """A 2-layer Llama with random weights and 16 tokens (letters, and the end), whose law can be enumerated."""
    path = tmp_path_factory.mktemp("tiny-llama")
    make_letter_model(path)
    return str(path)


@pytest.fixture(scope="session")
def byte_model(tmp_path_factory) -> str:
    """A tiny target whose tokens are bytes and a few words."""
    path = tmp_path_factory.mktemp("byte-llama")
    make_byte_model(path)
    return str(path)


@pytest.fixture(scope="session")
def draft_model(tmp_path_factory, byte_model) -> str:
    """The first layer of that target."""
    path = tmp_path_factory.mktemp("first-layer")
    make_first_layer(path, Path(byte_model))
    return str(path)


@pytest.fixture(scope="session")
def target_only(byte_model, tmp_path_factory) -> dict[str, Any]:
    """What tests/engine/reference.py reports; the target-only answers and snapshots are in the file "path".

    All requests in one batch, whole prompts at once, no cached prefixes.
    """
    path = str(tmp_path_factory.mktemp("target-only") / "reference.pickle")
    return run_json("tests.engine.reference", byte_model, path) | {"path": path}


def run(program: str, model: str, *arguments: Any, **environment: str) -> subprocess.CompletedProcess[str]:
    """One tiny engine in its own process (a second one in the same process fails)."""
    return subprocess.run(
        [sys.executable, "-m", program, model, *(a if isinstance(a, str) else json.dumps(a) for a in arguments)],
        capture_output=True,
        text=True,
        timeout=580,
        cwd=ROOT,
        env={**os.environ, **environment},
    )


def run_json(program: str, model: str, *arguments: Any, **environment: str) -> dict[str, Any]:
    """What the program reports, in its last line."""
    result = run(program, model, *arguments, **environment)
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout.strip().splitlines()[-1])


@dataclass(frozen=True)
class Served:
    """A running server, what was read back from it, and the file that the faulty drafter obeys."""

    base_url: str
    pid: int
    model: str
    readback: Any
    control: Path


@pytest.fixture(scope="session")
def servers(tmp_path_factory):
    """The demo's two servers and one whose drafter can be made to fail, on the default model: {arm: Served}.

    Uncompiled (they start faster), and with a KV cache that long requests fill.
    """
    from tests.soak.faults import FAILS_TO_LOAD
    from tests.soak.soak import SERVER_ARGS, faulty_arm
    from verispec_bench.model import fetch_model
    from verispec_bench.scenario import BASELINE, Setup, load_scenario
    from verispec_bench.server import (
        ServerProcess,
        free_port,
        probe_interpreter,
        read_back,
        server_command,
        wait_until_ready,
    )  # fmt: skip

    fetch_model()
    logs, interpreter = tmp_path_factory.mktemp("logs"), probe_interpreter()
    control = logs / "fault"
    control.write_text(FAILS_TO_LOAD)
    demo = load_scenario(ROOT / "scenarios" / "demo.yaml").model_dump()
    demo["server"] |= {"args": SERVER_ARGS, "env": {"PYTHONPATH": str(ROOT), "VLLM_CPU_KVCACHE_SPACE": "1"}}
    demo["arms"]["faulty"] = faulty_arm(control)
    scenario = Setup.model_validate(demo)
    with ExitStack() as running:
        started = {}
        for arm in (BASELINE, "suffix", "faulty"):
            port = free_port()
            command = server_command(scenario, arm, interpreter, port)
            started[arm] = running.enter_context(ServerProcess(arm, command, port, logs / f"{arm}.log"))
        asyncio.run(wait_until_ready(list(started.values()), 600))
        yield {
            arm: Served(s.base_url, s.pid, s.command.model, asyncio.run(read_back(s.base_url, s.pid)), control)
            for arm, s in started.items()
        }
