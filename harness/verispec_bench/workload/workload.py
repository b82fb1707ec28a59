"""Prompts under a name, and what a comparison must know of them."""

import hashlib
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass

from verispec_bench.workload.prompt import Prompt

Tokenise = Callable[[Sequence[str]], Awaitable[list[list[int]]]]
"""Texts to token ids, by the server that is going to read them."""


@dataclass(frozen=True)
class Workload:
    """A source of prompts.

    Attributes:
        name: as in the scenario.
        prompts: distinct, in the order in which they are dealt.
        needs_input_len: its prompts have no length of their own; the load's `input_len` gives it.
        shares_prefix: its prompts begin alike, so that servers are expected to find them in their prefix caches.
        not_for_speedup: why its speedups mean nothing; None: they do.

    """

    name: str
    prompts: tuple[Prompt, ...]
    needs_input_len: bool = False
    shares_prefix: bool = False
    not_for_speedup: str | None = None

    @property
    def digest(self) -> str:
        """What a manifest says of the prompts, which are digested before they are tokenised."""
        return prompts_digest(self.prompts)

    async def as_sent(self, prompts: Sequence[Prompt], input_len: int | None, tokenise: Tokenise) -> list[Prompt]:
        """Some of its prompts as they go to a server: here as they are; where lengths count, as token ids.

        Args:
            input_len: the cell's.

        Raises:
            UnusableInput: they cannot have this length.
            InfrastructureFailed: the server does not tokenise.

        """
        return list(prompts)


def prompts_digest(prompts: Sequence[Prompt]) -> str:
    """sha256 of all that the prompts hold, in order."""
    digest = hashlib.sha256()
    for prompt in prompts:
        digest.update(json.dumps(asdict(prompt), sort_keys=True).encode() + b"\n")
    return digest.hexdigest()
