"""Due times of a stated rate: gaps of mean one, laid on a rate that may change with time."""

import math

import numpy as np
from numpy.typing import NDArray

from verispec_bench.errors import UnusableInput


def schedule(
    count: int, rate: float, *, ramp_to: float | None = None, burstiness: float = 1.0, seed: int = 0
) -> list[float]:
    """Due times of `count` requests, in seconds after the start, ascending; the first is due at 0.

    The gaps between requests are drawn with mean one from a gamma law of shape `burstiness` (as vLLM's flag means it):
    1 is a Poisson process, below 1 requests come in bursts, above 1 they are more regular, infinity is a constant
    gap. The cumulated gaps are then mapped to the times at which the cumulated rate reaches them, so that a ramp
    keeps the law and bends only its clock.

    `rate` is the law's: a sample of few requests may be faster or slower. vLLM stretches its arrivals so that the last
    one falls at count / rate; that hides this variance, and is not done here.

    Args:
        rate: requests per second, or those at the start of a ramp.
        ramp_to: rate at the end; it changes linearly in time over 2 · count / (rate + ramp_to) seconds, in which
            `count` requests are expected, and stays.
        burstiness: shape of the gaps.
        seed: the same seed gives the same times.

    Raises:
        UnusableInput: a rate or shape that is none.

    """
    end = rate if ramp_to is None else ramp_to
    if not (0 <= rate < math.inf and 0 < end < math.inf):
        to = "" if ramp_to is None else f" to {ramp_to:g}"
        raise UnusableInput(f"request rate {rate:g}{to}: rates are finite and above 0; only a ramp may begin at 0")
    if not burstiness > 0:
        raise UnusableInput(f"burstiness {burstiness:g}: is not above 0")
    if count < 1:
        return []
    steps = np.concatenate([[0.0], np.cumsum(_gaps(count - 1, burstiness, seed))])
    return [float(at) for at in _times(steps, rate, end, 2 * count / (rate + end))]


def _gaps(count: int, burstiness: float, seed: int) -> NDArray[np.float64]:
    if math.isinf(burstiness):
        return np.ones(count)
    return np.random.default_rng(seed).gamma(burstiness, 1 / burstiness, count)


def _times(expected: NDArray[np.float64], rate: float, end: float, ramp_s: float) -> NDArray[np.float64]:
    """When so many requests are expected: t with rate·t + slope·t²/2 = expected while the ramp lasts, then linear."""
    slope = (end - rate) / ramp_s
    by_the_end = (rate + end) / 2 * ramp_s
    within = np.minimum(expected, by_the_end)
    # The other form of the quadratic's root: it needs no division by a slope that may be 0.
    root = rate + np.sqrt(np.maximum(rate**2 + 2 * slope * within, 0.0))
    times: NDArray[np.float64] = np.divide(2 * within, root, out=np.zeros_like(within), where=root > 0)
    after = expected - within
    times += after / end
    return times
