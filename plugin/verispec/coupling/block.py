"""Block verification (Sun et al., 2403.10444): the drafts of a request are judged together, not one by one.

With rows j = 0, 1, … of the target P_j, the draft law Q_j and the drafts x_j, the weight of a prefix of drafts is

    p_0 = 1,  p_{j+1} = min(1, p_j · P_j(x_j) / Q_j(x_j)).

A prefix of i < γ drafts may be kept with probability h_i = A_i / (A_i + 1 − p_i), A_i = Σ_x (p_i P_i(x) − Q_i(x))₊
(1 where that is 0/0), the whole block with h_γ = p_γ, each with a uniform of its own. The *longest* prefix that may be
kept is kept; its repair is drawn from (p_i P_i − Q_i)₊. The law of the committed tokens is the target's, and no rule
that judges one path keeps more drafts on average. With point-mass drafts, under greedy targets and for single drafts it
keeps exactly as many as the token rule.
"""

import torch
from torch import Tensor

from verispec.coupling.draft_law import DraftProbabilities, probabilities_of_drafts, repair_weights
from verispec.coupling.round import Draws, Round, Verdict
from verispec.coupling.sampling import draw


def decide(round_: Round, draws: Draws) -> Verdict:
    """Keep the longest prefix whose uniform allows it; the uniform of draft i judges the prefix that ends with it."""
    law = probabilities_of_drafts(round_)
    weights = _prefix_weights(round_, law)
    num_accepted = _longest_kept(round_, law, weights[:, 1:], draws.accept[round_.grid])

    def repair(requests: Tensor, rows: Tensor) -> Tensor:
        weight = weights[requests, num_accepted[requests]]
        return draw(repair_weights(round_, rows, law.drawable, weight), draws.repair[rows])

    return round_.repair_and_commit(num_accepted, repair)


NOTHING = 1e-12
"""Below this 0/0 is meant: rounding leaves neither missing mass nor a gap exactly 0."""


def _prefix_weights(round_: Round, law: DraftProbabilities) -> Tensor:
    """p_0 … p_width of each request, float64 [batch, width + 1]: sequential in the position, all requests at once."""
    ratio = torch.where(law.drawable, law.target.double() / law.proposal.double(), 0.0)[round_.grid]
    weights = [ratio.new_ones(len(round_.num_drafts))]
    for position in range(round_.width):
        weights.append((weights[-1] * ratio[:, position]).clamp_max(1))
    return torch.stack(weights, dim=1)


def _longest_kept(round_: Round, law: DraftProbabilities, weights: Tensor, uniforms: Tensor) -> Tensor:
    """Length of the longest prefix of each request that is kept, int64 [batch].

    As A_i ≤ p_i, h_i ≤ p_i, and h_i = 1 where p_i = 1: A_i, a sum over the vocabulary, is needed only where that leaves
    a doubt, and only beyond a prefix that is kept for sure.

    Args:
        round_, law: the drafts.
        weights, uniforms: float64 [batch, width], p_i and the uniform of the prefix that ends at each place.

    """
    if not round_.width:
        return torch.zeros_like(round_.num_drafts)
    length = round_.places + 1
    possible = (uniforms < weights) & round_.is_draft
    kept = possible & ((weights >= 1) | (length == round_.num_drafts.unsqueeze(1)))
    doubtful = possible & ~kept & (length > (kept * length).amax(dim=1, keepdim=True))
    if doubtful.any():
        weight = weights[doubtful]
        missing = _missing_mass(round_, law, round_.grid[doubtful] + 1, weight)
        gap = missing + (1 - weight)  # so: exactly `missing` where the weight is 1
        kept[doubtful] = uniforms[doubtful] < torch.where(gap > NOTHING, missing / gap.clamp_min(NOTHING), 1.0)
    return (kept * length).amax(dim=1)


def _missing_mass(round_: Round, law: DraftProbabilities, rows: Tensor, weight: Tensor) -> Tensor:
    """A = Σ_x (weight · P(x) − Q(x))₊ at the given rows, float64 [rows]; point masses need no row of the vocabulary."""
    drawable = law.drawable[rows]
    missing = torch.where(drawable, weight * (1 - law.target[rows].double()), weight)
    if round_.draft_probs is not None:
        stochastic = drawable if round_.point_mass is None else drawable & ~round_.point_mass[rows]
        rows, weight = rows[stochastic], weight[stochastic].unsqueeze(1)
        excess = round_.target_probs[rows] * weight.to(round_.target_probs.dtype) - round_.draft_probs[rows]
        missing[stochastic] = excess.clamp_min_(0).sum(dim=-1, dtype=torch.float64)
    return missing
