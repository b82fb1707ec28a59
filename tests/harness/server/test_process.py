"""Servers start in a group of their own and leave no orphan, however the harness ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from verispec_bench.errors import InfrastructureFailed
from verispec_bench.server import ServerCommand, ServerProcess, free_port, wait_until_ready

FAKE_PYTHON = str(Path(__file__).parents[2] / "fakes" / "python")


def fake_server(tmp_path, name="arm", served="m", **fake) -> ServerProcess:
    port = free_port()
    argv = [FAKE_PYTHON, "-m", "vllm", "--port", str(port), "--served-model-name", served]
    return ServerProcess(name, ServerCommand(argv, {"VERISPEC_FAKE": json.dumps(fake)}, "m"), port, tmp_path / "log")


def group_of(pid: int) -> list[psutil.Process]:
    return [p for p in psutil.process_iter(["status"]) if _group(p.pid) == pid and p.info["status"] != "zombie"]


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def wait_for(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)


async def test_a_server_becomes_ready_and_ends_with_its_group(tmp_path):
    said = []
    with fake_server(tmp_path, start_s=0.8) as server:
        await wait_until_ready([server], 30, lambda elapsed_s, waiting_for: said.append((elapsed_s, waiting_for)))
        assert len(group_of(server.pid)) >= 1
        assert os.getpgid(server.pid) == server.pid != os.getpgid(0)
    assert group_of(server.pid) == []
    assert said
    assert all(name == "arm" and 0 <= elapsed_s < 30 for elapsed_s, name in said)


async def test_a_server_that_dies_while_starting_shows_its_last_words(tmp_path):
    with fake_server(tmp_path, die="CUDA out of memory") as server:
        with pytest.raises(InfrastructureFailed, match=r"server arm died.*RuntimeError: CUDA out of memory") as error:
            await wait_until_ready([server], 30)
        assert "loading the model" in str(error.value)


async def test_a_server_that_takes_too_long_is_given_up(tmp_path):
    with (
        fake_server(tmp_path, start_s=60) as server,
        pytest.raises(InfrastructureFailed, match=r"not ready after 1 s \(server.start_timeout_s\)"),
    ):
        await wait_until_ready([server], 1)


async def test_a_stranger_on_the_port_is_not_taken_for_our_server(tmp_path):
    """It answers, healthy, with another model: we wait for ours, and say so."""
    with (
        fake_server(tmp_path, served="another-model") as server,
        pytest.raises(InfrastructureFailed, match="not ready"),
    ):
        await wait_until_ready([server], 3)


def test_a_process_that_ignores_sigterm_is_killed_with_the_group(tmp_path, monkeypatch):
    monkeypatch.setattr("verispec_bench.server.process._GUARDIAN", _hasty_guardian(tmp_path))
    with fake_server(tmp_path, children=True) as server:
        wait_for(lambda: server.died or len(group_of(server.pid)) >= 2)
        assert not server.died, server.log_tail()
    assert group_of(server.pid) == []


def _hasty_guardian(tmp_path) -> Path:
    import verispec_bench.server.guardian as guardian

    path = tmp_path / "guardian.py"
    path.write_text(Path(guardian.__file__).read_text().replace("GRACE_S = 20.0", "GRACE_S = 1.0"))
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_orphan_is_left_when_the_harness_is_killed(tmp_path, number):
    script = f"""
        import signal, sys, time
        sys.path.insert(0, {str(Path(__file__).parents[3])!r})
        from pathlib import Path
        from tests.harness.server.test_process import fake_server
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with fake_server(Path({str(tmp_path)!r})) as server:
            print(server.pid, flush=True)
            time.sleep(60)
    """
    harness = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    pid = int(harness.stdout.readline())
    wait_for(lambda: group_of(pid))
    harness.send_signal(number)
    harness.wait()
    wait_for(lambda: not group_of(pid))


def test_a_busy_port_is_refused():
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        with pytest.raises(InfrastructureFailed, match=f"port {port} is busy"):
            free_port(port)


def test_free_ports_are_free_and_rarely_the_same():
    ports = {free_port() for _ in range(20)}
    assert len(ports) > 15
    assert all(free_port(port) == port for port in ports)


def test_an_interpreter_that_cannot_run_is_refused(tmp_path):
    command = ServerCommand([str(tmp_path / "gone")], {}, "m")
    with pytest.raises(InfrastructureFailed, match="cannot be started"):
        ServerProcess("arm", command, 1, tmp_path / "log").__enter__()
