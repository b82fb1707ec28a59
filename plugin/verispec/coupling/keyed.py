"""Counter-based randomness: a draw is a function of (seed, position, stream), so that nothing has to be rolled back.

The committed prefix alone determines the position, hence the draw: whatever was drafted there, in whatever batch. What
a round reads beyond its cut (drafts, and the uniforms that judge them) is keyed by where the round begins too: the next
round must not meet it again. The mixing function is SplitMix64's (Steele, Lea & Flood, OOPSLA 2014), a bijection of
64-bit words.
"""

from enum import IntEnum

import torch
from torch import Tensor


class Stream(IntEnum):
    """What a draw is for; streams are independent of each other.

    Attributes:
        DRAFT: drawing a draft from q.
        ACCEPT: keeping it or not.
        OWN: the target's own token: repair, bonus, and every token of a target-only server.

    """

    DRAFT = 1
    ACCEPT = 2
    OWN = 3


def keys(seeds: Tensor, positions: Tensor, stream: Stream) -> Tensor:
    """One key for each (seed, position), int64 as its arguments; they broadcast.

    Args:
        seeds: int64, of the requests.
        positions: int64, index of the token in prompt and output together.
        stream: what is drawn there.

    """
    return _mix(_mix(_mix(seeds + _GOLDEN) + positions * _GOLDEN) + int(stream))


def uniform(keys: Tensor) -> Tensor:
    """A number on (0, 1) for each key, float64: 52 bits, never 0 and never 1."""
    return (((_mix(keys) >> 12) & _ones(52)).double() + 0.5) * 2.0**-52


def exponential(keys: Tensor, indices: Tensor) -> Tensor:
    """Standard exponential number of each (key, index), float64, positive; they broadcast."""
    return -torch.log(uniform(keys + (indices + 1) * _GOLDEN))


def _mix(x: Tensor) -> Tensor:
    """SplitMix64's finaliser; int64 products wrap around as the unsigned ones do."""
    x = (x ^ ((x >> 30) & _ones(34))) * (0xBF58476D1CE4E5B9 - 2**64)
    x = (x ^ ((x >> 27) & _ones(37))) * (0x94D049BB133111EB - 2**64)
    return x ^ ((x >> 31) & _ones(33))


def _ones(bits: int) -> int:
    return (1 << bits) - 1


_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
