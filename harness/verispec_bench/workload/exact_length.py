"""Prompts of an exact length in tokens: real text, tokenised by the server and cut, sent as ids."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from verispec_bench.errors import UnusableInput
from verispec_bench.workload.prompt import Prompt
from verispec_bench.workload.standard_library import Kind, windows
from verispec_bench.workload.workload import Tokenise, Workload

PROMPTS = 2000
LONGEST = 4096
"""Tokens; for longer prompts the texts are too short."""
CHARS_PER_TOKEN = 6
"""More than tokenizers make of code or English in the mean (3 to 5)."""


@dataclass(frozen=True)
class FixedLength(Workload):
    """Texts that are cut to the cell's length, or each to its own (Prompt.input_len)."""

    async def as_sent(self, prompts: Sequence[Prompt], input_len: int | None, tokenise: Tokenise) -> list[Prompt]:
        """The prompts as ids; raises as Workload.as_sent."""
        lengths = [prompt.input_len or input_len for prompt in prompts]
        texts = [prompt.text[: 2 * CHARS_PER_TOKEN * (n or 0)] for prompt, n in zip(prompts, lengths, strict=True)]
        ids = await tokenise(texts)
        return fixed_length(prompts, input_len, ids)


def texts(of: Kind, seed: int) -> tuple[Prompt, ...]:
    """Texts to be cut, of up to LONGEST tokens."""
    chosen = windows(of, [LONGEST * CHARS_PER_TOKEN] * PROMPTS, seed)
    return tuple(Prompt(section.id, section.text) for section in chosen)


def fixed_length(prompts: Sequence[Prompt], input_len: int | None, ids: Sequence[Sequence[int]]) -> list[Prompt]:
    """The prompts with the first ids of each; a prompt's own length goes before `input_len`.

    Args:
        ids: of each prompt's text.

    Raises:
        UnusableInput: no length is given, or a text has fewer tokens.

    """
    cut = []
    for prompt, tokens in zip(prompts, ids, strict=True):
        wanted = prompt.input_len or input_len
        if not wanted:
            raise UnusableInput(f"prompt {prompt.id}: has no length of its own; give load.input_len")
        if len(tokens) < wanted:
            raise UnusableInput(
                f"prompt {prompt.id}: its text has {len(tokens)} tokens, {wanted} were asked for; lower load.input_len"
            )
        cut.append(replace(prompt, text="", token_ids=tuple(tokens[:wanted]), input_len=wanted))
    return cut
