"""How much of each draft to submit: as makes the requests of the batch fastest, together and each.

A further draft makes the step longer for all, and brings one request its chance of being kept. What is maximised is the
geometric mean over the requests of expected tokens per second: what a request has already lowers what more is worth to
it, so that the first drafts of many come before the last of a few. The plain sum would leave the requests behind whose
drafts fail.
"""

import numpy as np
from numpy.typing import NDArray

LEAST_GAIN = 1.02
"""By how much any drafts at all must better the step: less is within what is known of its cost."""


def draft_lengths(
    chances: NDArray[np.float64],
    counts: NDArray[np.int64],
    seconds: NDArray[np.float64],
    slack_s: NDArray[np.float64] | None = None,
    tpot_target_s: float | None = None,
    prompts_s: float = 0.0,
) -> list[int]:
    """How many drafts of each request to submit.

    Args:
        chances: float64 [requests, most drafts], of each draft to be kept if those before it are; beyond a request's
            last draft anything.
        counts: int64 [requests], drafts of each.
        seconds: float64 [n + 1], of decoding with 0, 1, … n drafts; more are not submitted.
        slack_s: float64 [requests], by how much each request's step may take longer than its expected tokens would
            without drafts; None: it does not matter.
        tpot_target_s: seconds per token that no request is to exceed, where that can be; None: there is no such target.
        prompts_s: seconds that the step takes besides, whatever is drafted.

    """
    requests, most = chances.shape
    is_draft = np.arange(most) < counts[:, None]
    kept = np.cumprod(chances, axis=1).astype(np.float64, copy=False)
    gain = np.diff(np.log1p(kept.cumsum(axis=1)), axis=1, prepend=0.0)[is_draft]  # of the logarithm of expected tokens
    # Within a request each further draft gains less, so that its drafts keep their order.
    order = np.argsort(-gain, kind="stable")[: len(seconds) - 1]
    rows, kept = np.repeat(np.arange(requests), counts)[order], kept[is_draft][order]
    seconds = seconds[: len(rows) + 1]
    speed = np.exp(np.append(0.0, gain[order].cumsum()) / requests) / seconds
    speed[0] *= LEAST_GAIN
    if slack_s is not None or tpot_target_s is not None:
        expected = _expected_tokens(rows, kept, requests)
        if slack_s is not None:
            fits = (seconds[:, None] <= expected * seconds[0] + slack_s).all(axis=1)
            fits[0] = True
            speed[~fits] = 0
        if tpot_target_s is not None:
            excess = np.maximum((seconds[:, None] + prompts_s) / expected - tpot_target_s, 0.0).sum(axis=1)
            speed[excess > excess[speed > 0].min() + 1e-12] = 0
    lengths: list[int] = np.bincount(rows[: speed.argmax()], minlength=requests).tolist()
    return lengths


def _expected_tokens(rows: NDArray[np.int64], kept: NDArray[np.float64], requests: int) -> NDArray[np.float64]:
    """What each request commits in a step with the first 0, 1, 2, … drafts, float64 [drafts + 1, requests]."""
    expected = np.zeros((len(rows) + 1, requests))
    expected[0] = 1.0
    expected[np.arange(1, len(rows) + 1), rows] = kept
    return expected.cumsum(axis=0)
