"""A mistake in a scenario file is reported with file, line, key and the nearest valid name."""

import re
from pathlib import Path

import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.scenario import cells_of, load_scenario, load_setup, load_verification

GOOD = """\
name: tiny
model: smollm2-135m-instruct
server:
  dtype: float32
arms:
  suffix:
    speculative: {method: custom_class, model: verispec.engine.Proposer, num_speculative_tokens: 4}
    verispec: {drafter: suffix}
workloads: [chat]
load:
  concurrency: [1, 4]
"""
SCENARIOS = sorted((Path(__file__).parents[3] / "scenarios").glob("*.yaml"))
assert SCENARIOS


def load(tmp_path, text):
    path = tmp_path / "tiny.yaml"
    path.write_text(text)
    return load_scenario(path)


def refusal(tmp_path, text) -> str:
    with pytest.raises(UnusableInput) as error:
        load(tmp_path, text)
    return str(error.value).replace(f"{tmp_path}/", "")


def test_defaults_and_cells(tmp_path):
    scenario = load(tmp_path, GOOD)
    assert [cell.id for cell in cells_of(scenario)] == ["chat/c1/out96/t0/s16/float32", "chat/c4/out96/t0/s16/float32"]
    assert scenario.load.ignore_eos is False


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_scenario_of_the_project_is_valid(path):
    setup = load_setup(path)
    assert setup.name == path.stem
    assert setup.load or setup.exactness or setup.parity
    if setup.load:
        load_scenario(path)
    if setup.exactness or setup.parity:
        load_verification(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("concurrency:", "concurency:", "tiny.yaml:11: load.concurency: unknown key; did you mean 'concurrency'?"),
        ("dtype:", "dtyp:", "tiny.yaml:4: server.dtyp: unknown key; did you mean 'dtype'?"),
        ("drafter:", "druffter:", "tiny.yaml:8: arms.suffix.verispec.druffter: unknown key; did you mean 'drafter'?"),
        ("num_speculative_tokens: 4", "num_speculative_tokens: true", "num_speculative_tokens must be a whole number"),
        ("model: verispec.engine.Proposer", "model: ", "speculative: model must be a name or a directory"),
        ("dtype: float32", "env: {A=B: x}", "server.env.A=B: string should match pattern"),
        ("workloads:", "traffic:", "tiny.yaml:9: traffic: unknown key; valid here: name, title, model,"),
        ("[1, 4]", "[1, many]", "tiny.yaml:11: load.concurrency.1: input should be a valid integer"),
        ("[1, 4]", "[0]", "tiny.yaml:11: load.concurrency.0: input should be greater than or equal to 1"),
        ("[chat]", "[chatt]", "tiny.yaml:9: workloads.0: input should be 'code-edit', 'chat', 'summarise' or 'mixed'"),
        ("[chat]", "[{name: x, kind: traces}]", "tiny.yaml:9: workloads.0: give the name of a workload, or a map"),
        (
            "[chat]",
            "[3]",
            "tiny.yaml:9: workloads.0: give the name of a workload, or a mapping whose kind is file, fixed",
        ),
        ("[chat]", "[{name: x, kind: trace}]", "tiny.yaml:9: workloads.0.file: is required"),
        ("[chat]", "[{name: x}]", "tiny.yaml:9: workloads.0.file: is required"),
        ("[chat]", "[{name: x, file: y, flie: z}]", "tiny.yaml:9: workloads.0.flie: unknown key; did you mean 'file'?"),
        (
            "[chat]",
            "[{name: x, kind: trace, fil: y, of: code}]",
            "workloads.0.fil: unknown key; did you mean 'file'?",
        ),
        (
            "[chat]",
            "[{name: x, kind: fixed-length, prefix_chars: 9}]",
            "workloads.0.prefix_chars: unknown key; valid here: name, kind, of",
        ),
        ("[chat]", "[{name: x, kind: fixed-length, of: poems}]", "workloads.0.of: input should be 'code' or 'prose'"),
        ("[chat]", "[chat, {name: chat, kind: random}]", "chat is given twice"),
        ("model: smollm2-135m-instruct\n", "", "tiny.yaml: model: is required"),
        ("  concurrency: [1, 4]", "  blocks: 1", "load needs concurrency (closed loop), request_rate (open loop) or"),
        ("num_speculative_tokens: 4", "num_speculative_tokens: 0", "tiny.yaml:7: arms.suffix.speculative: num_spec"),
        ("method: custom_class, model: verispec.engine.Proposer, ", "", "speculative: needs a method"),
        ("  suffix:\n", "  target-only:\n", "the arm 'target-only' is made by the harness"),
        ("[1, 4]", "[1, 4]\n  concurrency: [2]", "tiny.yaml:12: key 'concurrency' is given twice"),
        ("[1, 4]", "[1, 4", "tiny.yaml:12: not YAML"),
        ("name: tiny", "name: tiny\ntitle: 2024-13-45", "tiny.yaml: holds an unreadable value"),
        ("[1, 4]", "[1, 4, 1]", "tiny.yaml:11: load.concurrency: 1 is given twice"),
        ("[chat]", "[chat, {name: chat, file: x.jsonl}]", "chat is given twice"),
        ("dtype: float32", "args: {max_num_seqs: 4}", "tiny.yaml:4: server.args: max-num-seqs: set by the harness"),
        ("name: tiny", "name: Tiny Scenario", "tiny.yaml:1: name: string should match"),
    ],
)
def test_a_mistake_names_file_line_and_key(tmp_path, old, new, message):
    assert old in GOOD
    assert message in refusal(tmp_path, GOOD.replace(old, new, 1))


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("{prompts: [a], completion: 500}", "exactness.completion: unknown key; did you mean 'completions'?"),
        ("{prompts: [a]}", "exactness.completions: is required"),
        ("{prompts: [], completions: 500}", "exactness.prompts: list should have at least 1 item"),
        ("{prompts: [a, a], completions: 500}", "exactness.prompts: a is given twice"),
        ("{prompts: [a], completions: 500, tokens: 1}", "exactness.tokens: input should be greater than or equal to 2"),
        (
            "{prompts: [a], completions: 500, sampling: [{temperature: 0}]}",
            "exactness.sampling.0.temperature: input should be greater than 0",
        ),
    ],
)
def test_a_mistake_in_the_exactness_section_names_its_key(tmp_path, section, message):
    (tmp_path / "tiny.yaml").write_text(GOOD + f"exactness: {section}\n")
    with pytest.raises(UnusableInput, match=r"tiny\.yaml:12: " + re.escape(message)):
        load_verification(tmp_path / "tiny.yaml")


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("{token: 9}", "parity.token: unknown key; did you mean 'tokens'?"),
        ("{tokens: 1}", "parity.tokens: input should be greater than or equal to 2"),
    ],
)
def test_a_mistake_in_the_parity_section_names_its_key(tmp_path, section, message):
    (tmp_path / "tiny.yaml").write_text(GOOD + f"parity: {section}\n")
    with pytest.raises(UnusableInput, match=r"tiny\.yaml:12: " + re.escape(message)):
        load_verification(tmp_path / "tiny.yaml")


def test_parity_alone_is_enough_to_verify_and_its_defaults_are_the_whole_test(tmp_path):
    (tmp_path / "tiny.yaml").write_text(GOOD + "parity: {}\n")
    scenario = load_verification(tmp_path / "tiny.yaml")
    assert scenario.exactness is None
    assert (scenario.parity.prompts, scenario.parity.tokens, scenario.parity.concurrency) == (300, 96, 16)


def test_every_mistake_is_reported_at_once(tmp_path):
    text = refusal(tmp_path, GOOD.replace("dtype:", "dtyp:").replace("concurrency:", "concurency:"))
    assert "server.dtyp" in text
    assert "load.concurency" in text


def test_a_missing_file_lists_its_neighbours(tmp_path):
    (tmp_path / "demo.yaml").write_text(GOOD)
    with pytest.raises(UnusableInput, match="no such scenario file; there is demo"):
        load_scenario(tmp_path / "dmo.yaml")


def test_plugin_settings_need_the_plugin(tmp_path):
    assert "exclude each other" in refusal(tmp_path, GOOD.replace("    verispec:", "    plugin: false\n    verispec:"))


def test_a_value_of_none_of_its_types_is_one_mistake(tmp_path):
    said = refusal(tmp_path, GOOD.replace("dtype: float32", "args: {enable-chunked-prefill: }"))
    assert said.count("\n") == 0
    assert "server.args.enable-chunked-prefill: input should be a valid boolean, or integer, or " in said
