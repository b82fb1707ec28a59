"""What is done at each position of a trace: which drafts are verified, what they commit, and who is paid for them."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from verispec_bench.speedmodel.replay.trace import Trace


@dataclass(frozen=True)
class Plan:
    """Of one trace, for a step from each of its positions.

    Attributes:
        committed: int64 [tokens], what the step commits.
        verified: int64 [tokens], tokens in the target's pass: the committed ones, where drafts that fail are left out
            as the published oracles do.
        billed: bool [tokens] for each drafter that is paid for.

    """

    committed: NDArray[np.int64]
    verified: NDArray[np.int64]
    billed: dict[str, NDArray[np.bool_]]


Policy = Callable[[Trace], Plan]


def single(drafter: str) -> Policy:
    """This drafter in every step; its drafts end where they fail (an oracle of the window)."""

    def plan(trace: Trace) -> Plan:
        lengths = trace.step_lengths[drafter]
        return Plan(lengths, lengths, {drafter: np.ones(trace.tokens, dtype=bool)})

    return plan


def longest(billed: str) -> Policy:
    """In every step the drafter whose step is longest: an oracle, it looks ahead.

    Args:
        billed: "taken": the drafter whose drafts are taken is paid; "all": all of them are; else the name of the one
            that is paid in each step, whoever drafted.

    """

    def plan(trace: Trace) -> Plan:
        names = list(trace.step_lengths)
        lengths = np.stack([trace.step_lengths[name] for name in names])
        taken = lengths.argmax(axis=0)
        bills = {
            name: (taken == row) if billed == "taken" else np.full(trace.tokens, billed in ("all", name))
            for row, name in enumerate(names)
        }
        return Plan(lengths.max(axis=0), lengths.max(axis=0), bills)

    return plan
