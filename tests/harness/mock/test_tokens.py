"""The mock's tokens: one a word, and answers that follow from the prompt."""

from hypothesis import given
from hypothesis import strategies as st

from verispec_bench.mock.tokens import VOCABULARY, answer, detokenize, tokenize


@given(st.lists(st.integers(0, VOCABULARY - 1)))
def test_text_and_ids_are_the_same_tokens(token_ids):
    assert tokenize(detokenize(token_ids)) == token_ids


@given(st.text())
def test_every_text_has_a_token_for_each_word_inside_the_vocabulary(text):
    token_ids = tokenize(text)
    assert len(token_ids) == len(text.split())
    assert all(0 <= token_id < VOCABULARY for token_id in token_ids)


def test_an_answer_follows_from_the_prompt_and_a_longer_one_begins_alike():
    prompt = tokenize("why is the sky blue")
    assert answer(prompt, 30)[:10] == answer(prompt, 10)
    assert answer(prompt, 10) != answer(tokenize("why is the sky red"), 10)


def test_an_answer_repeats_no_token_before_it_has_used_all():
    assert len(set(answer([1], VOCABULARY))) == VOCABULARY
