"""The corpus of greedy parity: six kinds of prompts, made from templates and fillers of the project's own."""

import random
from itertools import chain

from verispec_bench.errors import UnusableInput
from verispec_bench.exactness.parity.corpus import chat, code, documents, json_answers, languages, stops
from verispec_bench.exactness.parity.corpus.prompt import GreedyPrompt

__all__ = ["KINDS", "MAX_PROMPT_TOKENS", "GreedyPrompt", "corpus"]

KINDS = {
    "code": code.prompts,
    "chat": chat.prompts,
    "multilingual": languages.prompts,
    "json": json_answers.prompts,
    "stop": stops.prompts,
    "long": documents.prompts,
}
EACH = 54
"""Prompts of each kind."""
MAX_PROMPT_TOKENS = 928
"""Room for the longest prompt with its chat template."""


def corpus(count: int) -> list[GreedyPrompt]:
    """The first prompts of the corpus, its kinds in turn, so that any number of them is balanced; always the same.

    Raises:
        UnusableInput: there are not so many.

    """
    by_kind = [random.Random(kind).sample(make(), EACH) for kind, make in KINDS.items()]
    prompts = list(chain.from_iterable(zip(*by_kind, strict=True)))
    if count > len(prompts):
        raise UnusableInput(f"parity.prompts: the corpus has {len(prompts)} prompts, {count} were asked for")
    return prompts[:count]
