"""How much of each draft to submit: the batch's goodput is what counts.

Every further draft makes the step longer for all, and gains its chance of being kept for one. Drafts are taken in the
order of that chance, whoever's they are, and as many as make the expected committed tokens per second largest.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

LEAST_GAIN = 1.02
"""By how much any drafts at all must better the step: less is within what is known of its cost."""


def draft_lengths(
    chances: Sequence[NDArray[np.float64]],
    seconds: NDArray[np.float64],
    slack_s: NDArray[np.float64] | None = None,
    tpot_target_s: float | None = None,
) -> list[int]:
    """How many drafts of each request to submit.

    Args:
        chances: of each request, float64 [its drafts]: to be kept if those before are.
        seconds: float64 [all drafts + 1], of a step with 0, 1, 2, … drafts.
        slack_s: float64 [requests], by how much each request's step may take longer than its expected tokens would
            without drafts; None: it does not matter.
        tpot_target_s: seconds per token that no request is to exceed, where that can be; None: there is no such target.

    """
    rows = np.repeat(np.arange(len(chances)), [len(chance) for chance in chances])
    kept = np.concatenate([np.cumprod(chance) for chance in chances]) if len(rows) else np.empty(0)
    order = np.argsort(-kept, kind="stable")
    rows, kept = rows[order], kept[order]
    goodput = (len(chances) + np.concatenate([[0.0], np.cumsum(kept)])) / seconds
    goodput[0] *= LEAST_GAIN
    best = int(goodput.argmax())
    if slack_s is not None or tpot_target_s is not None:
        expected = _expected_tokens(rows, kept, len(chances))
        if slack_s is not None:
            fits = (seconds[:, None] <= expected * seconds[0] + slack_s).all(axis=1)
            fits[0] = True
            goodput = np.where(fits, goodput, 0.0)
        if tpot_target_s is not None:
            excess = np.maximum(seconds[:, None] / expected - tpot_target_s, 0.0).sum(axis=1)
            goodput = np.where(excess <= excess[goodput > 0].min() + 1e-12, goodput, 0.0)
        best = int(goodput.argmax())
    return np.bincount(rows[:best], minlength=len(chances)).tolist()


def _expected_tokens(rows: NDArray[np.int64], kept: NDArray[np.float64], requests: int) -> NDArray[np.float64]:
    """What each request commits in a step with the first 0, 1, 2, … drafts, float64 [drafts + 1, requests]."""
    expected = np.zeros((len(rows) + 1, requests))
    expected[0] = 1.0
    expected[np.arange(1, len(rows) + 1), rows] = kept
    return expected.cumsum(axis=0)
