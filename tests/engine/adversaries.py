"""Drafters that do everything wrong that a drafter can do, and the oracle that most of them are made from.

Each is a class with `propose` and `forget`, so that it can be named by import path in the settings, or put in the place
of a running proposer's drafter.
"""

import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import count

import torch

from verispec.drafting import Proposal, make_drafter


class Adversary:
    """Calls `draft` for each request; it keeps nothing."""

    def draft(self, request) -> list[int]:
        return []

    def propose(self, requests) -> Sequence:
        return [Proposal(self.draft(request)) for request in requests]

    def forget(self, request_ids) -> None:
        pass


class Constant(Adversary):
    """The same token again and again."""

    def __init__(self, token: int, longer: int = 0) -> None:
        self._token, self._longer = token, longer

    def draft(self, request):
        return [self._token] * (request.max_tokens + self._longer)


class Random(Adversary):
    """Random tokens, in random numbers."""

    def __init__(self, vocab_size: int, seed: int = 0) -> None:
        self._vocab_size, self._random = vocab_size, random.Random(seed)

    def draft(self, request):
        return [self._random.randrange(self._vocab_size) for _ in range(self._random.randint(0, request.max_tokens))]


class Oracle(Adversary):
    """Knows what the target will say, and drafts that, or a change of it.

    Args:
        known: all tokens (prompt and answer) of each request that may come, by the prompt.
        change: maps the right drafts to those that are sent.

    """

    def __init__(self, known: Mapping[tuple[int, ...], list[int]], change: Callable = lambda right: right) -> None:
        self._known, self._change = known, change
        self._prompts: dict[str, tuple[int, ...]] = {}

    def draft(self, request):
        tokens = request.token_ids.tolist()
        prompt = self._prompts.get(request.request_id) or self._find(tokens)
        if prompt is None:
            return []
        self._prompts[request.request_id] = prompt
        whole = self._known[prompt]
        right = whole[len(tokens) :] if whole[: len(tokens)] == tokens else []
        return list(self._change(right[: request.max_tokens]))

    def forget(self, request_ids):
        for request_id in request_ids:
            self._prompts.pop(request_id, None)

    def _find(self, tokens):
        return next((p for p in self._known if tuple(tokens[: len(p)]) == p), None)


class Broken(Adversary, ABC):
    """Good proposals, wrongly handed over.

    Args:
        drafter: whose proposals; by default those of a suffix drafter.

    """

    def __init__(self, drafter=None) -> None:
        self._drafter, self._calls = drafter or make_drafter("suffix", {}), count()

    def propose(self, requests):
        return self.hand_over(list(self._drafter.propose(requests)), next(self._calls))

    def forget(self, request_ids):
        self._drafter.forget(request_ids)

    @abstractmethod
    def hand_over(self, proposals: list, call: int) -> list:
        """What the engine gets in the place of the proposals."""


class TooFewRows(Broken):
    def hand_over(self, proposals, call):
        return proposals[:-1] if call % 2 else proposals


class TooManyRows(Broken):
    def hand_over(self, proposals, call):
        return proposals + proposals[:1] * (call % 2)


class NoProposals(Broken):
    """Some rows are None."""

    def hand_over(self, proposals, call):
        return [None if (call + row) % 3 == 0 else proposal for row, proposal in enumerate(proposals)]


class Raising(Broken):
    def hand_over(self, proposals, call):
        if call % 3 == 2:
            raise RuntimeError("the drafter is out of order")
        return proposals


class Slow(Broken):
    def hand_over(self, proposals, call):
        time.sleep(0.02 * (call % 4 == 0))
        return proposals


class WithLaw(Oracle):
    """Right for one token, then wrong, with a q that is a law, or is not, or is that of another draft."""

    def __init__(self, known, vocab_size: int, change: Callable, law: Callable) -> None:
        super().__init__(known, change)
        self._vocab_size, self._law = vocab_size, law

    def propose(self, requests):
        drafts = [self.draft(request) for request in requests]
        return [Proposal(tokens, probs) for tokens, probs in zip(drafts, self._law(self._smooth(drafts)), strict=True)]

    def _smooth(self, drafts):
        """Half of the mass on the drafted token, half spread evenly."""
        spread = torch.full((self._vocab_size,), 0.5 / self._vocab_size)
        return [0.5 * torch.eye(self._vocab_size)[tokens] + spread for tokens in drafts]


def wrong_at(place: int, vocab_size: int) -> Callable:
    """Right before the place; there another token, and after it what would have been right."""
    return lambda right: [t if i != place else (t + 1) % vocab_size for i, t in enumerate(right)]


def inside(place: int, *tokens: int) -> Callable:
    """The right drafts with these tokens put in at the place."""
    return lambda right: [*right[:place], *tokens, *right[place:]][: max(len(right), 1)]


def point_mass_adversaries(known, tokenizer, vocab_size: int, drafts: int) -> dict[str, Adversary]:
    """By name; none of them claims a law q, so seeded requests too must get the target-only text."""

    def token(text: str) -> int:
        return tokenizer.encode(text)[0]

    end, stop = tokenizer.eos_token_id, token("d")
    return {
        "nothing": Adversary(),
        "always right": Oracle(known),
        "always wrong": Oracle(known, wrong_at(0, vocab_size)),
        **{f"right for {j}, then wrong": Oracle(known, wrong_at(j, vocab_size)) for j in range(1, drafts)},
        "the same token": Constant(token("a")),
        "the end inside": Oracle(known, inside(1, end)),
        "a stop id inside": Oracle(known, inside(1, stop)),
        "a stop string inside": Oracle(known, inside(1, token("h"), token("b"))),
        "what breaks a grammar inside": Oracle(known, inside(2, token("}"))),
        "random": Random(vocab_size),
        "too long": Constant(token("a"), longer=3 * drafts),
        "outside the vocabulary": Oracle(known, inside(2, vocab_size + 7)),
        "minus one": Oracle(known, inside(1, -1)),
        "too few rows": TooFewRows(Oracle(known)),
        "too many rows": TooManyRows(Oracle(known)),
        "no proposals": NoProposals(Oracle(known)),
        "raising": Raising(Oracle(known)),
        "slow": Slow(Oracle(known)),
    }


def adversaries_with_a_law(known, vocab_size: int) -> dict[str, Adversary]:
    """By name; a seeded text depends on the schedule of drafts that have a law, so only greedy ones are compared."""
    laws: dict[str, Callable] = {
        "a law": lambda laws: laws,
        "the law of another request": lambda laws: [
            other if len(other) == len(law) else law for law, other in zip(laws, laws[1:] + laws[:1], strict=True)
        ],
        "the law of another position": lambda laws: [law.flip(0) for law in laws],
        "a law that sums to two": lambda laws: [2 * law for law in laws],
        "a law of too few rows": lambda laws: [law[:-1] for law in laws],
    }
    return {name: WithLaw(known, vocab_size, wrong_at(1, vocab_size), law) for name, law in laws.items()}
