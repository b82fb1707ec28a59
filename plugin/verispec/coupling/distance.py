"""How far two next-token distributions are apart, and what is missing from the overlap.

All functions work on the last axis and broadcast over the others.
"""

import torch
from torch import Tensor


def overlap(p: Tensor, q: Tensor) -> Tensor:
    """Σ min(p, q): the largest probability with which a coupling can make draws from p and q equal.

    Args:
        p, q: probabilities, float [..., vocab].

    Returns:
        float [...], in [0, 1].

    """
    return torch.minimum(p, q).sum(dim=-1)


def total_variation(p: Tensor, q: Tensor) -> Tensor:
    """½ Σ |p − q| = 1 − overlap(p, q), float [...]."""
    return (p - q).abs().sum(dim=-1) / 2


def residual(p: Tensor, q: Tensor) -> Tensor:
    """(p − q)₊, normalised: the law of the repair after a draft from q was rejected (Leviathan et al., 2211.17192).

    Its mass before normalising is total_variation(p, q), the rejection probability, so that accepted and repaired
    tokens add up to p. Where p = q nothing is ever rejected and no residual exists; p itself is returned.

    Returns:
        float [..., vocab], each row summing to 1.

    """
    missing = (p - q).clamp_min(0)
    mass = missing.sum(dim=-1, keepdim=True)
    return torch.where(mass > 0, missing / mass.clamp_min(torch.finfo(mass.dtype).tiny), p)
