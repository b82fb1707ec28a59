"""Prompt sources: distinct prompts in a seeded order, and files in the field's forms."""

import asyncio
import json

import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.scenario import WorkloadFile
from verispec_bench.scenario.workloads import FixedLength, MultiTurn, RandomIds, SharedPrefix
from verispec_bench.workload import Message, Prompt, load_prompts, load_workload, prompts_digest, summarise


@pytest.mark.parametrize(("name", "at_least"), [("chat", 160), ("code-edit", 200), ("summarise", 300), ("mixed", 480)])
def test_built_in_prompts_are_many_and_distinct(name, at_least):
    prompts = load_prompts(name, seed=0)
    assert len(prompts) >= at_least
    assert len({p.text for p in prompts}) == len(prompts)
    assert len({p.id for p in prompts}) == len(prompts)


def test_mixed_prompts_are_of_all_kinds_in_equal_parts():
    ids = {prompt.id for prompt in load_prompts("mixed", 0)}
    of = [len(ids & {prompt.id for prompt in load_prompts(kind, 0)}) for kind in ("chat", "code-edit", "summarise")]
    assert of == [len(ids) / 3] * 3


def test_the_seed_orders_the_prompts():
    assert load_prompts("chat", 1) == load_prompts("chat", 1)
    assert load_prompts("chat", 1) != load_prompts("chat", 2)
    assert prompts_digest(load_prompts("chat", 1)) != prompts_digest(load_prompts("chat", 2))


def test_a_name_that_is_no_workload_is_refused():
    with pytest.raises(UnusableInput, match="no workload 'chatt'; built in are chat, code-edit, mixed, summarise"):
        load_workload("chatt", 0)


def test_a_workload_of_texts_is_sent_as_it_is_and_its_speedups_count():
    workload = load_workload("chat", 0)
    assert (workload.needs_input_len, workload.shares_prefix, workload.not_for_speedup) == (False, False, None)
    assert asyncio.run(workload.as_sent(workload.prompts[:3], None, None)) == list(workload.prompts[:3])


@pytest.mark.parametrize(
    "spec",
    [
        "summarise",
        FixedLength(name="x", kind="fixed-length"),
        MultiTurn(name="x", kind="multi-turn"),
        SharedPrefix(name="x", kind="shared-prefix"),
        RandomIds(name="x", kind="random", vocab_size=9),
    ],
    ids=str,
)
def test_every_source_has_a_seeded_order_and_a_digest_of_it(spec):
    first, again, other = load_workload(spec, 1), load_workload(spec, 1), load_workload(spec, 2)
    assert first == again
    assert first.digest == again.digest == prompts_digest(load_prompts(spec, 1))
    assert first.prompts != other.prompts
    assert first.digest != other.digest


def test_the_digest_counts_all_that_is_sent():
    prompts = [
        Prompt("a", "x"),
        Prompt("a", "x", history=(Message("user", "y"),)),
        Prompt("a", "x", input_len=3),
        Prompt("a", "x", output_len=3),
        Prompt("a", "x", at_s=3.0),
        Prompt("a", "y"),
    ]
    assert len({prompts_digest([prompt]) for prompt in prompts}) == len(prompts)
    assert prompts_digest([Prompt("a", "x")]) == "c5dfe17b24edbc63b665e8831ad5a0619c920cd890747a4ffabda830b170d73a"


def test_a_summary_restates_a_passage_of_the_prompt():
    for prompt in load_prompts("summarise", 0):
        task, _, passage = prompt.text.partition("\n\n")
        assert task in summarise.TASKS
        assert 600 <= len(passage) <= 3000


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


SPEC_BENCH = (
    "writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities",  # two turns
    "translation", "summarization", "qa", "math_reasoning", "rag",  # one turn
)  # fmt: skip


def test_a_file_with_all_categories_of_spec_bench(tmp_path):
    lines = [
        {"question_id": 81 + i, "category": category, "turns": [f"{category}\n\nfirst"] + ["then"] * (i < 8)}
        for i, category in enumerate(SPEC_BENCH)
    ]
    (tmp_path / "question.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    prompts = load_prompts(WorkloadFile(name="mine", file="question.jsonl"), 0, tmp_path)
    assert {(p.id, p.text) for p in prompts} == {
        (str(81 + i), f"{category}\n\nfirst") for i, category in enumerate(SPEC_BENCH)
    }


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
