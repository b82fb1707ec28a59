"""The mock's tokenizer: one token a word. Its own words, t0, t1, …, are the tokens of those ids."""

from array import array
from collections.abc import Sequence
from zlib import crc32

VOCABULARY = 32_000
_STRIDE = 7919
"""Prime and no divisor of the vocabulary: an answer repeats no token before it has used them all."""


def tokenize(text: str) -> list[int]:
    """Ids of the words of a text; tokenize(detokenize(ids)) == ids."""
    return [_id(word) for word in text.split()]


def detokenize(token_ids: Sequence[int]) -> str:
    """One word for each token, each with a blank before it."""
    return "".join(f" t{token_id}" for token_id in token_ids)


def answer(prompt_ids: Sequence[int], num_tokens: int) -> list[int]:
    """What the mock says to a prompt: a function of its ids; longer answers begin as shorter ones."""
    start = crc32(array("q", prompt_ids).tobytes())
    return [(start + _STRIDE * index) % VOCABULARY for index in range(num_tokens)]


def _id(word: str) -> int:
    if word[0] == "t" and word[1:].isascii() and word[1:].isdigit() and int(word[1:]) < VOCABULARY:
        return int(word[1:])
    return crc32(word.encode("utf-8", "replace")) % VOCABULARY
