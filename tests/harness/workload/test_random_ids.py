"""Random tokens: of the model's own vocabulary, without its special tokens, and never good for a claim."""

import json
from collections import Counter

import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.scenario.workloads import RandomIds
from verispec_bench.workload import load_workload
from verispec_bench.workload.vocabulary import read_vocabulary

SPEC = RandomIds(name="noise", kind="random")


@pytest.fixture
def model(tmp_path):
    """Eight tokens, of which 0 and 7 are special, in a padded vocabulary of sixteen."""
    tokenizer = {
        "model": {"vocab": {f"t{id_}": id_ for id_ in range(7)}},
        "added_tokens": [{"id": 7, "content": "<end>", "special": True}, {"id": 3, "content": "t3", "special": False}],
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    (tmp_path / "config.json").write_text(json.dumps({"vocab_size": 16, "bos_token_id": 0, "eos_token_id": [7, 0]}))
    return tmp_path


async def sent(workload, number, input_len):
    return await workload.as_sent(workload.prompts[:number], input_len, None)


async def test_ids_are_uniform_over_what_is_not_special(model):
    prompts = await sent(load_workload(SPEC, 0, model=str(model)), 60, 1000)
    counts = Counter(id_ for prompt in prompts for id_ in prompt.token_ids)
    assert set(counts) == {1, 2, 3, 4, 5, 6}
    assert max(counts.values()) - min(counts.values()) < 600  # of 10,000 each: a standard deviation is 91


async def test_prompts_are_distinct_and_the_same_at_every_call(model):
    workload = load_workload(SPEC, 0, model=str(model))
    prompts = await sent(workload, 100, 64)
    assert len({prompt.token_ids for prompt in prompts}) == 100
    assert await sent(workload, 100, 64) == prompts
    assert await sent(load_workload(SPEC, 1, model=str(model)), 100, 64) != prompts


async def test_a_longer_prompt_does_not_begin_like_a_shorter_one(model):
    workload = load_workload(SPEC, 0, model=str(model))
    (short,), (long,) = await sent(workload, 1, 64), await sent(workload, 1, 128)
    assert long.token_ids[:64] != short.token_ids


async def test_they_need_a_length(model):
    with pytest.raises(UnusableInput, match=r"noise: .*give load\.input_len"):
        await sent(load_workload(SPEC, 0, model=str(model)), 1, None)


def test_they_are_not_for_speedups(model):
    workload = load_workload(SPEC, 0, model=str(model))
    assert workload.not_for_speedup
    assert "random tokens misstate speculation" in workload.not_for_speedup
    assert workload.needs_input_len


async def test_a_given_vocabulary_needs_no_model():
    workload = load_workload(RandomIds(name="noise", kind="random", vocab_size=3), 0)
    (prompt,) = await sent(workload, 1, 100)
    assert set(prompt.token_ids) == {0, 1, 2}


@pytest.mark.parametrize("name", ["owner/model", None])
def test_a_model_that_is_not_here_needs_a_given_vocabulary(name):
    with pytest.raises(UnusableInput, match="give vocab_size"):
        load_workload(SPEC, 0, model=name)


def test_without_a_tokenizer_file_the_config_tells(model):
    (model / "tokenizer.json").unlink()
    assert read_vocabulary(model).ids == tuple(id_ for id_ in range(16) if id_ not in (0, 7))


def test_a_model_that_does_not_tell_is_refused(model):
    (model / "tokenizer.json").unlink()
    (model / "config.json").write_text("{}")
    with pytest.raises(UnusableInput, match="tells the vocabulary; give vocab_size"):
        read_vocabulary(model)
