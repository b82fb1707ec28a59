"""Prompts of random tokens: a load, and no traffic. Nothing in them can be predicted, and what follows them loops."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from verispec_bench.errors import UnusableInput
from verispec_bench.workload.prompt import Prompt
from verispec_bench.workload.vocabulary import Vocabulary
from verispec_bench.workload.workload import Tokenise, Workload

PROMPTS = 4000
REASON = "random tokens misstate speculation: no drafter can find in them what it finds in real text"


@dataclass(frozen=True)
class RandomIds(Workload):
    """Ids drawn uniformly, by the prompt's id and its length alone."""

    vocabulary: Vocabulary = field(default=Vocabulary(()), repr=False)

    async def as_sent(self, prompts: Sequence[Prompt], input_len: int | None, tokenise: Tokenise) -> list[Prompt]:
        """The prompts as ids; raises as Workload.as_sent."""
        if not input_len:
            raise UnusableInput(f"workload {self.name}: its prompts have no length of their own; give load.input_len")
        return [replace(prompt, token_ids=self._draw(prompt, input_len), input_len=input_len) for prompt in prompts]

    def _draw(self, prompt: Prompt, length: int) -> tuple[int, ...]:
        return tuple(Random(f"{prompt.id} {length}").choices(self.vocabulary.ids, k=length))


def unfilled(seed: int) -> tuple[Prompt, ...]:
    """Prompts whose ids are drawn when their length is known."""
    return tuple(Prompt(f"random-{seed}-{number}") for number in range(PROMPTS))
