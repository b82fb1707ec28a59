"""Prompt sources: distinct prompts in a seeded order, and files in the field's forms."""

import json

import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.scenario import WorkloadFile
from verispec_bench.workload import load_prompts, prompts_digest


@pytest.mark.parametrize(("name", "at_least"), [("chat", 160), ("code-edit", 200)])
def test_built_in_prompts_are_many_and_distinct(name, at_least):
    prompts = load_prompts(name, seed=0)
    assert len(prompts) >= at_least
    assert len({p.text for p in prompts}) == len(prompts)
    assert len({p.id for p in prompts}) == len(prompts)


def test_the_seed_orders_the_prompts():
    assert load_prompts("chat", 1) == load_prompts("chat", 1)
    assert load_prompts("chat", 1) != load_prompts("chat", 2)
    assert prompts_digest(load_prompts("chat", 1)) != prompts_digest(load_prompts("chat", 2))


def test_code_edit_prompts_hold_whole_functions_that_fit_small_contexts():
    for prompt in load_prompts("code-edit", 0):
        assert "def " in prompt.text
        assert len(prompt.text) < 1500


@pytest.mark.parametrize(
    "line",
    [
        {"question_id": 7, "category": "math", "turns": ["first", "second"]},
        {"id": "7", "conversations": [{"from": "human", "value": "first"}, {"from": "gpt", "value": "no"}]},
        {"id": "7", "prompt": "first"},
    ],
    ids=["Spec-Bench", "ShareGPT", "plain"],
)
def test_files_in_each_form(tmp_path, line):
    (tmp_path / "p.jsonl").write_text(json.dumps(line) + "\n\n")
    (prompt,) = load_prompts(WorkloadFile(name="mine", file="p.jsonl"), 0, tmp_path)
    assert (prompt.id, prompt.text) == ("7", "first")


def test_only_line_feeds_end_a_line_and_a_byte_order_mark_is_skipped(tmp_path):
    (tmp_path / "p.jsonl").write_text('\ufeff{"prompt": "one\u2028two\u0085three"}\n', encoding="utf-8")
    (prompt,) = load_prompts(WorkloadFile(name="mine", file="p.jsonl"), 0, tmp_path)
    assert prompt.text == "one\u2028two\u0085three"


def test_conversations_that_begin_with_no_user_message_are_left_out(tmp_path):
    lines = [
        {"conversations": c} for c in ([], ["hi"], [{"from": "gpt", "value": "x"}], [{"from": "human", "value": "y"}])
    ]
    (tmp_path / "p.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert [p.text for p in load_prompts(WorkloadFile(name="mine", file="p.jsonl"), 0, tmp_path)] == ["y"]


def test_the_same_text_twice_is_one_prompt(tmp_path):
    (tmp_path / "p.jsonl").write_text('{"prompt": "x"}\n{"prompt": "x"}\n')
    assert len(load_prompts(WorkloadFile(name="mine", file="p.jsonl"), 0, tmp_path)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"prompt": "x"}\n{oops}\n', "p.jsonl:2: not JSON"),
        ('{"question": "x"}\n', 'p.jsonl:1: neither "prompt" nor "turns"'),
        ("[1]\n", "p.jsonl:1: neither"),
        ("\n", "p.jsonl: holds no prompts"),
    ],
)
def test_unusable_files_are_refused_by_line(tmp_path, text, message):
    (tmp_path / "p.jsonl").write_text(text)
    with pytest.raises(UnusableInput, match=message):
        load_prompts(WorkloadFile(name="mine", file="p.jsonl"), 0, tmp_path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UnusableInput, match="cannot be read"):
        load_prompts(WorkloadFile(name="mine", file="gone.jsonl"), 0, tmp_path)
