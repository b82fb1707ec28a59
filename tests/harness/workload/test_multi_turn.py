"""Conversations: every turn is a prompt with the recorded messages before it."""

import json

import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.scenario.workloads import MultiTurn
from verispec_bench.workload import Message, Prompt, load_workload

BUILT_IN = MultiTurn(name="turns", kind="multi-turn")


def said(*messages):
    return {"id": "c", "conversations": [{"from": role, "value": value} for role, value in messages]}


def read(tmp_path, *lines):
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return load_workload(MultiTurn(name="turns", kind="multi-turn", file="c.jsonl"), 0, tmp_path).prompts


def test_each_turn_holds_the_messages_before_it(tmp_path):
    first, second = read(tmp_path, said(("system", "s"), ("human", "a"), ("gpt", "b"), ("user", "c"), ("gpt", "d")))
    assert first == Prompt("c-1", "a", (Message("system", "s"),))
    assert second == Prompt("c-3", "c", (Message("system", "s"), Message("user", "a"), Message("assistant", "b")))


def test_the_built_in_conversations_keep_the_order_of_their_turns():
    workload = load_workload(BUILT_IN, 0)
    assert len(workload.prompts) >= 60
    assert len({prompt.id for prompt in workload.prompts}) == len(workload.prompts)
    assert len({(prompt.history, prompt.text) for prompt in workload.prompts}) == len(workload.prompts)
    for before, prompt in zip(workload.prompts, workload.prompts[1:], strict=False):
        if prompt.history:
            assert prompt.history[:-1] == (*before.history, Message("user", before.text))


def test_conversations_share_their_beginnings_and_say_so():
    assert load_workload(BUILT_IN, 0).shares_prefix


@pytest.mark.parametrize(
    "after",
    [[("human", "again")], [("gpt", "")], [("gpt", None)], [("tool", "x")], [("system", "late")]],
    ids=["no reply", "empty", "null", "unknown role", "late system message"],
)
def test_a_conversation_ends_where_the_two_no_longer_take_turns(tmp_path, after):
    (prompt,) = read(tmp_path, said(("human", "a"), *after, ("gpt", "b"), ("human", "c")))
    assert (prompt.text, prompt.history) == ("a", ())


def test_the_same_turn_of_two_conversations_is_one_prompt(tmp_path):
    one = said(("human", "a"), ("gpt", "b"), ("human", "c"))
    two = said(("human", "a"), ("gpt", "b"), ("human", "d"))
    assert sorted(prompt.text for prompt in read(tmp_path, one, two)) == ["a", "c", "d"]


def test_what_begins_with_no_user_message_is_left_out(tmp_path):
    lines = said(("gpt", "x"), ("human", "y")), said(), said(("human", "z"))
    assert [prompt.text for prompt in read(tmp_path, *lines)] == ["z"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"turns": ["a", "b"]}, r'c\.jsonl:1: no "conversations" \(ShareGPT\); other forms hold no replies'),
        ([1], r"c\.jsonl:1: neither"),
        (said(("gpt", "x")), r"c\.jsonl: holds no prompts"),
    ],
    ids=["Spec-Bench", "no object", "no user"],
)
def test_a_file_without_recorded_replies_is_refused(tmp_path, line, message):
    with pytest.raises(UnusableInput, match=message):
        read(tmp_path, line)
