"""What a round's drafts are worth under the target and under the law that drew them."""

from typing import NamedTuple

import torch
from torch import Tensor

from verispec.coupling.round import Round


class DraftProbabilities(NamedTuple):
    """Of each draft, by row.

    Attributes:
        target: float [num_tokens], p(x).
        proposal: float [num_tokens], q(x); 1 for a point mass.
        drawable: bool [num_tokens]: x can have come from q. A draft that cannot (-1, or q(x) = 0) is no draw from q:
            it is rejected whatever p is, and its repair is drawn as if nothing had been drafted there.

    """

    target: Tensor
    proposal: Tensor
    drawable: Tensor


def probabilities_of_drafts(round_: Round) -> DraftProbabilities:
    """Look up p(x) and q(x) of each row; no row of the vocabulary is built."""
    drawable = round_.draft_token_ids >= 0
    draft = round_.draft_token_ids.clamp_min(0).unsqueeze(-1)
    target = round_.target_probs.gather(-1, draft).squeeze(-1)
    proposal = torch.ones_like(target)
    if round_.draft_probs is not None:
        proposal = round_.draft_probs.gather(-1, draft).squeeze(-1).to(target.dtype)
        if round_.point_mass is not None:
            proposal = torch.where(round_.point_mass, torch.ones_like(proposal), proposal)
        drawable = drawable & (proposal > 0)
    return DraftProbabilities(target, proposal, drawable)


def repair_weights(round_: Round, rows: Tensor, drawable: Tensor, weight: Tensor | None = None) -> Tensor:
    """(weight · p − q)₊ at the given rows, not normalised, float [rows, vocab]; p itself where nothing is left of it.

    Args:
        rows: int64 [rows].
        drawable: bool [num_tokens], as probabilities_of_drafts gives it; what is no draw from q takes nothing from p.
        weight: float [rows]; 1 if None.

    """
    missing = round_.target_probs[rows]
    if weight is not None:
        missing *= weight.unsqueeze(1).to(missing.dtype)
    point_mass = drawable[rows]
    if round_.draft_probs is not None:
        stochastic = point_mass if round_.point_mass is None else point_mass & ~round_.point_mass[rows]
        missing[stochastic] -= round_.draft_probs[rows[stochastic]]
        missing.clamp_min_(0)
        point_mass = point_mass & ~stochastic
    draft = round_.draft_token_ids[rows].clamp_min(0).unsqueeze(1)
    missing.scatter_(1, draft, torch.where(point_mass.unsqueeze(1), 0, missing.gather(1, draft)))
    nothing = missing.sum(dim=-1) <= 0
    missing[nothing] = round_.target_probs[rows[nothing]]
    return missing
