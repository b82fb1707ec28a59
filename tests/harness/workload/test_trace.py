"""Prompts as long as a trace's, in the trace's order."""

import json

import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.scenario.workloads import Trace
from verispec_bench.workload import load_workload

LINES = [(3000, 40, 5), (0, 700, 9), (1000, 2, 30)]


@pytest.fixture
def base(tmp_path):
    lines = [{"timestamp": at, "input_length": n, "output_length": m, "hash_ids": [1]} for at, n, m in LINES]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return tmp_path


async def five_chars_a_token(texts):
    return [list(range(len(text) // 5)) for text in texts]


async def test_prompts_and_answers_have_the_trace_s_lengths_in_the_order_of_its_times(base):
    workload = load_workload(Trace(name="t", kind="trace", file="t.jsonl"), 0, base)
    assert not workload.needs_input_len
    sent = await workload.as_sent(workload.prompts, None, five_chars_a_token)
    assert [(len(prompt.token_ids), prompt.output_len) for prompt in sent] == [(700, 9), (2, 30), (40, 5)]


def test_the_seed_chooses_the_texts_and_not_the_order(base):
    spec = Trace(name="t", kind="trace", file="t.jsonl", of="prose")
    one, two = load_workload(spec, 1, base), load_workload(spec, 2, base)
    assert [prompt.input_len for prompt in one.prompts] == [prompt.input_len for prompt in two.prompts]
    assert {prompt.text for prompt in one.prompts}.isdisjoint({prompt.text for prompt in two.prompts})
    assert one.digest == load_workload(spec, 1, base).digest != two.digest


def test_only_the_first_lines_are_read_where_that_is_asked_for(base):
    workload = load_workload(Trace(name="t", kind="trace", file="t.jsonl", requests=1), 0, base)
    assert [prompt.input_len for prompt in workload.prompts] == [700]


def test_more_lines_than_texts_are_refused(base):
    line = json.dumps({"timestamp": 0, "input_length": 1, "output_length": 1})
    (base / "long.jsonl").write_text((line + "\n") * 9000)
    with pytest.raises(UnusableInput, match=r"9000 prompts of code were asked for; the standard library has \d+"):
        load_workload(Trace(name="t", kind="trace", file="long.jsonl"), 0, base)


def test_a_missing_trace_is_refused(base):
    with pytest.raises(UnusableInput, match=r"gone\.jsonl: the trace cannot be read"):
        load_workload(Trace(name="t", kind="trace", file="gone.jsonl"), 0, base)
