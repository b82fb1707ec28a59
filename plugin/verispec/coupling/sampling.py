"""Drawing a token from a row of weights: by one uniform number, or by the race that a key decides.

Both look first at the masses of blocks of the vocabulary and then inside one block: one cheap pass over a wide row.
"""

import torch
from torch import Tensor

from verispec.coupling.keyed import exponential

BLOCK = 256


def draw(weights: Tensor, uniform: Tensor) -> Tensor:
    """Invert the cumulative weights: token i with probability weights[i] / Σ weights.

    A token of weight 0 is never drawn, whatever the rounding.

    Args:
        weights: float [rows, vocab], not negative, each row with a positive sum.
        uniform: float64 [rows], on [0, 1).

    Returns:
        int64 [rows].

    """
    masses = _block_masses(weights).double().cumsum(dim=-1)
    block, before = _invert(masses, uniform * masses[:, -1])
    tokens, inside = _block(weights, block)
    place, _ = _invert(inside.double().cumsum(dim=-1), uniform * masses[:, -1] - before)
    return tokens.gather(-1, place.unsqueeze(-1)).squeeze(-1)


def race(weights: Tensor, keys: Tensor) -> Tensor:
    """Token i with probability weights[i] / Σ weights over random keys, by exponential races (Gumbel-max).

    Each block of the vocabulary arrives after an exponential time over its mass, then each token of the first block
    does: the first wins. Rows that hardly differ agree for most keys, which is what makes races a coupling (Daliri et
    al., 2408.07978), and insensitive to the last bits of the weights. A token of weight 0 never wins.

    Args:
        weights: float [rows, vocab], not negative, each row with a positive sum.
        keys: int64 [rows].

    Returns:
        int64 [rows].

    """
    masses, keys = _block_masses(weights), keys.unsqueeze(-1)
    blocks = torch.arange(masses.shape[1], device=weights.device)
    tokens, inside = _block(weights, (exponential(keys, blocks) / masses).argmin(dim=-1))
    first = (exponential(keys, len(blocks) + tokens) / inside).argmin(dim=-1, keepdim=True)
    return tokens.gather(-1, first).squeeze(-1)


def _block_masses(weights: Tensor) -> Tensor:
    """Sum of each block of the vocabulary, float [rows, blocks]; the last block may be shorter."""
    whole = weights.shape[1] // BLOCK
    masses = weights[:, : whole * BLOCK].reshape(len(weights), whole, BLOCK).sum(dim=-1)
    rest = weights[:, whole * BLOCK :]
    return torch.cat([masses, rest.sum(dim=-1, keepdim=True)], dim=1) if rest.shape[1] else masses


def _block(weights: Tensor, block: Tensor) -> tuple[Tensor, Tensor]:
    """Token ids of each row's block, int64 [rows, BLOCK], and their weights, 0 beyond the vocabulary."""
    vocab = weights.shape[1]
    tokens = block.unsqueeze(-1) * BLOCK + torch.arange(min(BLOCK, vocab), device=weights.device)
    return tokens, torch.where(tokens < vocab, weights.gather(-1, tokens.clamp_max(vocab - 1)), 0)


def _invert(cumulative: Tensor, threshold: Tensor) -> tuple[Tensor, Tensor]:
    """First index of each row whose cumulative weight is above the threshold, and the cumulative weight before it."""
    total = cumulative[:, -1]
    threshold = torch.minimum(threshold, torch.nextafter(total, torch.zeros_like(total)))
    index = torch.searchsorted(cumulative, threshold.unsqueeze(-1), right=True)
    before = torch.nn.functional.pad(cumulative, (1, 0)).gather(-1, index)
    return index.squeeze(-1), before.squeeze(-1)
