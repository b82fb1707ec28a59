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


def proposal_rows(round_: Round, rows: Tensor, drawable: Tensor) -> Tensor:
    """q at the given rows only, float [rows, vocab]: one-hot for point masses, 0 where the draft is no draw from q.

    Args:
        rows: int64 [rows].
        drawable: bool [num_tokens], as probabilities_of_drafts gives it.

    """
    draft = round_.draft_token_ids[rows].clamp_min(0).unsqueeze(-1)
    if round_.draft_probs is None:
        q = torch.zeros_like(round_.target_probs[rows]).scatter_(-1, draft, 1)
    else:
        q = round_.draft_probs[rows].to(round_.target_probs.dtype)
        if round_.point_mass is not None:
            point_mass = round_.point_mass[rows]
            q[point_mass] = torch.zeros_like(q[point_mass]).scatter_(-1, draft[point_mass], 1)
    q[~drawable[rows]] = 0
    return q
