"""A target whose greedy answers count upwards: after token n comes n + 1, and n + 2 is the runner-up."""

from dataclasses import dataclass, field
from typing import Any

TOKENS = 1000
GAP, TIE = 1.0, 1e-5
"""Nats between first and second: as a rule, and where it is torn."""


@dataclass
class GreedyModel:
    """Settings.

    Attributes:
        ties: last digits of tokens that are only just ahead of their runner-up.
        flips: last digits of tokens in whose place the runner-up is said.
        noise: by how much a pass's gap is smaller than a step's, at most (none after tokens that 4 divides).
        drift: the same for a step's own gap.

    """

    ties: list[int] = field(default_factory=list)
    flips: list[int] = field(default_factory=list)
    noise: float = 1e-4
    drift: float = 0.0

    @staticmethod
    def prompt_ids(text: str) -> list[int]:
        return [(sum(text.encode()) - 1) % TOKENS]

    def answer(self, prompt_ids: list[int], count: int) -> list[int]:
        ids = prompt_ids[-1:]
        for _ in range(count):
            first = (ids[-1] + 1) % TOKENS
            ids.append((first + 1) % TOKENS if first % 10 in self.flips else first)
        return ids[1:]

    def step(self, last: int) -> dict[int, float]:
        """Logprobs after a token, in a decode step."""
        return self._row(last, self.drift)

    def whole(self, token_ids: list[int]) -> list[dict[str, Any] | None]:
        """`prompt_logprobs` of one pass."""
        rows = [self._row(last, self.noise) for last in token_ids[:-1]]
        for row, token in zip(rows, token_ids[1:], strict=True):
            row.setdefault(token, -9.0)
        return [
            None,
            *({str(i): {"logprob": value, "decoded_token": f" t{i}"} for i, value in row.items()} for row in rows),
        ]

    def _row(self, last: int, noise: float) -> dict[int, float]:
        first, second = (last + 1) % TOKENS, (last + 2) % TOKENS
        gap = (TIE if first % 10 in self.ties else GAP) - noise * (last % 4) / 3
        return {first: -0.5, second: -0.5 - gap}
