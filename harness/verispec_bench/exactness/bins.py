"""What is compared of a completion: which of the usual pairs of neighbouring tokens it holds.

A pair is (token t − 1, token t) for t ≥ 1: its second token stands at a position that may have been drafted, its first
token is the context in which a draft was made, so that errors of opposite sign after different tokens do not cancel.
The bins are ranks: bin r holds the pair that was the r-th most frequent in a pilot of the baseline for that prompt, the
last bin all others. The pilot is not tested, so the choice of the bins leaves the test valid.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

RANKS = 3
"""Bins with a pair of their own; more would cost completions: the noise of a TV grows with the number of bins."""
Pair = tuple[int, int]
TokenIds = Sequence[Sequence[int]]


def choose_bins(pilot: TokenIds) -> list[Pair]:
    """The most frequent pairs of one prompt's pilot, at most RANKS."""
    counts = Counter(pair for token_ids in pilot for pair in _pairs(token_ids))
    return [pair for pair, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:RANKS]]


def bin_shares(completions: TokenIds, bins: Sequence[Pair]) -> NDArray[np.float64]:
    """Of each completion, the share of its pairs in each bin.

    Args:
        completions: of one prompt, each of at least two tokens.
        bins: of that prompt.

    Returns:
        [completions, RANKS + 1]; rows add up to 1.

    """
    ranks = {pair: rank for rank, pair in enumerate(bins)}
    shares = np.zeros((len(completions), RANKS + 1))
    for row, token_ids in zip(shares, completions, strict=True):
        for pair in _pairs(token_ids):
            row[ranks.get(pair, RANKS)] += 1 / (len(token_ids) - 1)
    return shares


def _pairs(token_ids: Sequence[int]) -> list[Pair]:
    return list(pairwise(token_ids))
