"""Greedy parity: did both servers emit the same token ids?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from verispec_bench.client.record import RequestRecord


@dataclass(frozen=True)
class Divergence:
    """The first difference between two answers.

    Attributes:
        prompt_id: of which prompt.
        position: index of the first token that differs.
        baseline, arm: both answers as text.

    """

    prompt_id: str
    position: int
    baseline: str
    arm: str


@dataclass(frozen=True)
class GreedyParity:
    """How many answers were compared, and the ones that differ."""

    compared: int
    divergences: list[Divergence]

    @property
    def identical(self) -> bool | None:
        """None where nothing could be compared."""
        return not self.divergences if self.compared else None


def greedy_parity(pairs: Iterable[tuple[RequestRecord, RequestRecord]]) -> GreedyParity:
    """Compare (baseline, arm) answers to the same prompts by token ids; failed requests are not compared."""
    compared, divergences = 0, []
    for baseline, arm in pairs:
        if baseline.ok and arm.ok and baseline.token_ids is not None and arm.token_ids is not None:
            compared += 1
            position = first_difference(baseline.token_ids, arm.token_ids)
            if position is not None:
                divergences.append(Divergence(baseline.prompt_id, position, baseline.text, arm.text))
    return GreedyParity(compared, divergences)


def first_difference(ours: Sequence[int], theirs: Sequence[int]) -> int | None:
    """Index of the first token that differs, the shorter's length if one is the other's beginning, None if equal."""
    if ours == theirs:
        return None
    shorter = min(len(ours), len(theirs))
    return next((i for i in range(shorter) if ours[i] != theirs[i]), shorter)
