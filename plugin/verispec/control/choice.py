"""How much of each draft to submit: as makes the requests of the batch fastest, together and each.

A further draft makes the step longer for all, and brings one request its chance of being kept. What is maximised is the
geometric mean over the requests of expected tokens per second: what a request has already lowers what more is worth to
it, so that the first drafts of many come before the last of a few. The plain sum would leave the requests behind whose
drafts fail.
"""

from math import exp, inf, log1p

import numpy as np
from numpy.typing import NDArray

from verispec.compiled import compiled

LEAST_GAIN = 1.02
"""By how much any drafts at all must better the step: less is within what is known of its cost."""
_EQUAL_S = 1e-12
"""Sums of seconds that differ by less do so by rounding."""


@compiled
def draft_lengths(
    chances: NDArray[np.float64],
    counts: NDArray[np.int64],
    seconds: NDArray[np.float64],
    slack_s: NDArray[np.float64],
    tpot_target_s: float,
    prompts_s: float,
) -> NDArray[np.int64]:
    """How many drafts of each request to submit, int64 [requests].

    Args:
        chances: float64 [requests, most drafts], of each draft to be kept if those before it are; beyond a request's
            last draft anything.
        counts: int64 [requests], drafts of each, at most as many as `chances` has columns.
        seconds: float64 [n + 1], of decoding with 0, 1, … n drafts; more are not submitted.
        slack_s: float64 [requests], by how much each request's step may take longer than its expected tokens would
            without drafts; infinite: it does not matter.
        tpot_target_s: seconds per token that no request is to exceed, where that can be; infinite: there is no such
            target.
        prompts_s: seconds that the step takes besides, whatever is drafted.

    """
    requests = len(counts)
    rows, kept, gain = _candidates(chances, counts)
    order = np.argsort(-gain, kind="mergesort")[: len(seconds) - 1]
    expected = np.ones(requests)
    best, best_speed, log_tokens = 0, LEAST_GAIN / seconds[0], 0.0
    best_excess = _excess_s(expected, seconds[0] + prompts_s, tpot_target_s)
    for drafts in range(1, len(order) + 1):
        draft = order[drafts - 1]
        expected[rows[draft]] += kept[draft]
        log_tokens += gain[draft]
        speed = exp(log_tokens / requests) / seconds[drafts]
        excess = _excess_s(expected, seconds[drafts] + prompts_s, tpot_target_s)
        better = excess < best_excess - _EQUAL_S or (excess <= best_excess + _EQUAL_S and speed > best_speed)
        if better and (seconds[drafts] <= expected * seconds[0] + slack_s).all():
            best, best_speed, best_excess = drafts, speed, excess
    lengths = np.zeros(requests, np.int64)
    for draft in order[:best]:
        lengths[rows[draft]] += 1
    return lengths


@compiled
def _candidates(
    chances: NDArray[np.float64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Of every draft: whose it is, its chance to be kept with all before it, and what it adds to the log of tokens.

    Within a request each further draft adds less, so that sorted by it they keep their order.
    """
    total = counts.sum()
    rows, kept, gain = np.empty(total, np.int64), np.empty(total), np.empty(total)
    draft = 0
    for row in range(len(counts)):
        survives, expected = 1.0, 1.0
        for place in range(counts[row]):
            survives *= chances[row, place]
            rows[draft], kept[draft], gain[draft] = row, survives, log1p(survives / expected)
            expected += survives
            draft += 1
    return rows, kept, gain


@compiled
def _excess_s(expected: NDArray[np.float64], seconds: float, tpot_target_s: float) -> float:
    """By how much the requests exceed the target in such a step, added up."""
    if tpot_target_s == inf:
        return 0.0
    return float(np.maximum(seconds / expected - tpot_target_s, 0.0).sum())
