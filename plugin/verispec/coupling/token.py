"""Token-by-token verification: speculative sampling (Leviathan et al., 2211.17192; Chen et al., 2302.01318).

At each position a draft x ~ q is kept with probability min(1, p(x)/q(x)); the first rejection cuts the block and is
repaired from (p − q)₊. Kept mass min(p, q) and repaired mass (p − q)₊ add up to p at every position, so that the law
of the committed tokens is the target's, whatever q is.
"""

import torch
from torch import Tensor

from verispec.coupling.distance import residual
from verispec.coupling.round import Draws, Round, Verdict
from verispec.coupling.sampling import draw


def decide(round_: Round, draws: Draws) -> Verdict:
    """Accept, cut and repair.

    A draft that cannot have come from its q (-1, or q(x) = 0) is no draw from q: it is rejected whatever p is, and its
    repair is drawn from p itself.
    """
    drawable = round_.draft_token_ids >= 0
    draft = round_.draft_token_ids.clamp_min(0).unsqueeze(-1)
    target = round_.target_probs.gather(-1, draft).squeeze(-1)
    proposal = torch.ones_like(target)
    if round_.draft_probs is not None:
        proposal = round_.draft_probs.gather(-1, draft).squeeze(-1)
        if round_.point_mass is not None:
            proposal = torch.where(round_.point_mass, torch.ones_like(proposal), proposal)
        drawable = drawable & (proposal > 0)
    accepted = drawable & (draws.accept * proposal < target)
    num_accepted = round_.length_of_accepted_prefix(accepted)

    rejected = num_accepted < round_.num_drafts
    rows = (round_.first_row + num_accepted)[rejected]
    return round_.commit(num_accepted, draw(_repair_law(round_, rows, drawable[rows]), draws.repair[rejected]))


def _repair_law(round_: Round, rows: Tensor, drawable: Tensor) -> Tensor:
    """The residual at the given rows only, float [rows, vocab]."""
    p = round_.target_probs[rows]
    draft = round_.draft_token_ids[rows].clamp_min(0).unsqueeze(-1)
    if round_.draft_probs is None:
        q = torch.zeros_like(p).scatter_(-1, draft, 1)
    else:
        q = round_.draft_probs[rows]
        if round_.point_mass is not None:
            point_mass = round_.point_mass[rows]
            q[point_mass] = torch.zeros_like(q[point_mass]).scatter_(-1, draft[point_mass], 1)
    q[~drawable] = 0
    return residual(p, q)
