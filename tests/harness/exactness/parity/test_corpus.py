"""The corpus: large, varied, the same every time, and within the room that scenarios are told to leave for it."""

import json
import re
from collections import Counter

import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.exactness.parity.corpus import KINDS, MAX_PROMPT_TOKENS, corpus

PROMPTS = corpus(324)


def of(kind):
    return [prompt for prompt in PROMPTS if prompt.kind == kind]


def test_no_two_prompts_are_alike():
    assert len({(p.text, json.dumps(p.options)) for p in PROMPTS}) == len({p.id for p in PROMPTS}) == 324
    assert len({p.text for p in PROMPTS if p.kind != "json"}) == 270


def test_any_number_of_prompts_is_balanced_over_the_kinds():
    assert Counter(p.kind for p in corpus(60)) == dict.fromkeys(KINDS, 10)
    assert corpus(60) == PROMPTS[:60]


def test_more_than_there_are_is_refused():
    with pytest.raises(UnusableInput, match=r"parity\.prompts: the corpus has 324 prompts, 325 were asked for"):
        corpus(325)


def test_both_chat_and_plain_completions_occur_in_the_kinds_that_have_both():
    for kind in KINDS.keys() - {"chat"}:
        assert {p.chat for p in of(kind)} == {True, False}, kind


def test_languages_bring_scripts_of_two_three_and_four_bytes():
    widths = {len(character.encode()) for p in of("multilingual") for character in p.text}
    assert widths == {1, 2, 3, 4}


def test_stop_prompts_have_stop_strings_and_no_open_template():
    for prompt in of("stop"):
        assert prompt.options["stop"]
        assert all(stop and "{" not in stop for stop in prompt.options["stop"])


def test_some_json_answers_are_under_a_grammar():
    schemas = [p.options["response_format"] for p in of("json") if p.options]
    assert len(schemas) == 12
    assert all(schema["json_schema"]["schema"]["required"] for schema in schemas)


def test_long_prompts_have_several_hundred_tokens_and_leave_room_for_the_template():
    """Counted as tokenizers do at worst: every digit, mark and line end by itself, words in pieces of five letters."""
    sizes = [len(re.findall(r"\d|[a-zA-Z_]{1,5}|[^\w ]", p.text)) for p in of("long")]
    assert min(sizes) > 250
    assert max(sizes) < MAX_PROMPT_TOKENS - 50
