"""How much of each draft to submit: as makes the requests of the batch fastest, together and each.

A further draft makes the step longer for all, and brings one request its chance of being kept. What is maximised is the
geometric mean over the requests of expected tokens per second. Beside the plain sum it gives up next to no throughput
(what a request has already lowers what more is worth to it, so that the first drafts of many come before the last of
a few), and it does not leave the requests behind whose drafts fail.
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
        seconds: float64 [n + 1], of a step with 0, 1, … n drafts; more are not submitted.
        slack_s: float64 [requests], by how much each request's step may take longer than its expected tokens would
            without drafts; None: it does not matter.
        tpot_target_s: seconds per token that no request is to exceed, where that can be; None: there is no such target.

    """
    rows = np.repeat(np.arange(len(chances)), [len(chance) for chance in chances])
    kept = np.concatenate([np.cumprod(chance) for chance in chances])
    gain = np.concatenate([_gain(chance) for chance in chances])
    # Within a request each further draft gains less, so that its drafts keep their order.
    order = np.argsort(-gain, kind="stable")[: len(seconds) - 1]
    rows, kept = rows[order], kept[order]
    seconds = seconds[: len(rows) + 1]
    speed = np.exp(np.append(0.0, gain[order].cumsum()) / len(chances)) / seconds
    speed[0] *= LEAST_GAIN
    if slack_s is not None or tpot_target_s is not None:
        expected = _expected_tokens(rows, kept, len(chances))
        if slack_s is not None:
            fits = (seconds[:, None] <= expected * seconds[0] + slack_s).all(axis=1)
            fits[0] = True
            speed[~fits] = 0
        if tpot_target_s is not None:
            excess = np.maximum(seconds[:, None] / expected - tpot_target_s, 0.0).sum(axis=1)
            speed[excess > excess[speed > 0].min() + 1e-12] = 0
    lengths: list[int] = np.bincount(rows[: speed.argmax()], minlength=len(chances)).tolist()
    return lengths


def _gain(chance: NDArray[np.float64]) -> NDArray[np.float64]:
    """What each draft adds to the logarithm of its request's expected tokens."""
    return np.diff(np.log1p(np.cumprod(chance).cumsum()), prepend=0.0)


def _expected_tokens(rows: NDArray[np.int64], kept: NDArray[np.float64], requests: int) -> NDArray[np.float64]:
    """What each request commits in a step with the first 0, 1, 2, … drafts, float64 [drafts + 1, requests]."""
    expected = np.zeros((len(rows) + 1, requests))
    expected[0] = 1.0
    expected[np.arange(1, len(rows) + 1), rows] = kept
    return expected.cumsum(axis=0)
