"""Prompts of an exact length: cut by token, each beginning differently, and checked against usage."""

import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.scenario.workloads import FixedLength
from verispec_bench.workload import Prompt, fixed_length, load_workload
from verispec_bench.workload.exact_length import LONGEST
from verispec_bench.workload.standard_library import DISTINCT_CHARS


async def five_chars_a_token(texts):
    """A tokenizer that makes longer tokens than most."""
    return [list(range(len(text) // 5)) for text in texts]


@pytest.fixture(params=["code", "prose"])
def workload(request):
    return load_workload(FixedLength(name="long", kind="fixed-length", of=request.param), seed=0)


@pytest.mark.parametrize("input_len", [1, 128, LONGEST])
async def test_every_prompt_has_exactly_the_length_that_is_asked_for(workload, input_len):
    sent = await workload.as_sent(workload.prompts[:50], input_len, five_chars_a_token)
    assert {len(prompt.token_ids) for prompt in sent} == {input_len}
    assert [prompt.id for prompt in sent] == [prompt.id for prompt in workload.prompts[:50]]
    assert not any(prompt.text for prompt in sent)


def test_prompts_are_many_and_no_two_begin_alike(workload):
    assert len({prompt.text[:DISTINCT_CHARS] for prompt in workload.prompts}) == len(workload.prompts) >= 2000
    assert len({prompt.id for prompt in workload.prompts}) == len(workload.prompts)
    assert workload.needs_input_len
    assert workload.not_for_speedup is None
    assert not workload.shares_prefix


async def test_a_workload_without_a_length_is_refused(workload):
    with pytest.raises(UnusableInput, match=r"has no length of its own; give load\.input_len"):
        await workload.as_sent(workload.prompts[:1], None, five_chars_a_token)


def test_a_prompts_own_length_goes_before_the_cells():
    prompts = [Prompt("a", "x"), Prompt("b", "y", input_len=2)]
    assert [prompt.token_ids for prompt in fixed_length(prompts, 3, [[1, 2, 3, 4], [5, 6, 7]])] == [(1, 2, 3), (5, 6)]


def test_a_text_with_too_few_tokens_is_refused():
    with pytest.raises(UnusableInput, match="prompt a: its text has 2 tokens, 3 were asked for"):
        fixed_length([Prompt("a", "x")], 3, [[1, 2]])
