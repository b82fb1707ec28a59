"""The verb `mock-server`: ready at an address, one-line faults."""

import json
import signal
import socket
import subprocess
import urllib.request

import pytest

from tests.harness.sweep.test_sweep import VERISPEC, verispec


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tokens-per-second", "0"], "verispec: --tokens-per-second 0.0: must be from 0.001 to 1000000"),
        (["--error-rate", "2"], "verispec: --error-rate 2.0: must be from 0 to 1"),
    ],
)
def test_a_bad_flag_is_one_line_and_exit_code_2(arguments, message):
    result = verispec("mock-server", *arguments)
    assert (result.returncode, result.stderr.strip()) == (2, message)


def test_an_unknown_kind_of_error_is_exit_code_2():
    result = verispec("mock-server", "--error-kind", "boredom")
    assert result.returncode == 2
    assert "boredom" in result.stderr


def test_a_busy_port_is_one_line_and_exit_code_3():
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        result = verispec("mock-server", "--port", str(port))
    assert result.returncode == 3
    assert result.stderr.startswith(f"verispec: port {port} of 127.0.0.1: ")
    assert result.stderr.count("\n") == 1


def test_it_says_where_it_is_answers_there_and_ends_on_ctrl_c():
    command = [VERISPEC, "mock-server", "--port", "0", "--model", "clock", "--json-line"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        try:
            ready = json.loads(server.stdout.readline())
            with urllib.request.urlopen(f"{ready['url']}/v1/models", timeout=30) as response:
                served = json.load(response)
            server.send_signal(signal.SIGINT)
            assert server.wait(30) == 130
        finally:
            server.kill()
    assert ready["model"] == served["data"][0]["id"] == "clock"
    assert ready["pid"] == server.pid
