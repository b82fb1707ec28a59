"""Drawing a token from a row of weights with one uniform number."""

import torch
from torch import Tensor


def draw(weights: Tensor, uniform: Tensor) -> Tensor:
    """Invert the cumulative weights: token i with probability weights[i] / Σ weights.

    A token of weight 0 is never drawn, whatever the rounding.

    Args:
        weights: float [rows, vocab], not negative, each row with a positive sum.
        uniform: float64 [rows], on [0, 1).

    Returns:
        int64 [rows].

    """
    cumulative = weights.to(torch.float64).cumsum(dim=-1)
    total = cumulative[:, -1]
    threshold = torch.minimum(uniform * total, torch.nextafter(total, torch.zeros_like(total)))
    return torch.searchsorted(cumulative, threshold.unsqueeze(-1), right=True).squeeze(-1)
