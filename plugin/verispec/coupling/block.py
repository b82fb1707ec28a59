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

from verispec.coupling.distance import residual
from verispec.coupling.draft_law import DraftProbabilities, probabilities_of_drafts, proposal_rows
from verispec.coupling.round import Draws, Round, Verdict
from verispec.coupling.sampling import draw


def decide(round_: Round, draws: Draws) -> Verdict:
    """Keep the longest prefix whose uniform allows it; the uniform of draft i judges the prefix that ends with it."""
    law = probabilities_of_drafts(round_)
    weights = _prefix_weights(round_, law)
    weight_before, weight_after = weights[:, :-1], weights[:, 1:]

    # A prefix is judged by what is missing at the position after it, the whole block by its weight.
    missing = _missing_mass(round_, law, weight_before)
    following = torch.nn.functional.pad(missing[:, 1:], (0, 1))
    gap = following + (1 - weight_after)  # so: exactly `following` where the weight is 1
    length = round_.places + 1
    is_whole = length == round_.num_drafts.unsqueeze(1)
    keep = torch.where(is_whole, weight_after, torch.where(gap > NOTHING, following / gap.clamp_min(NOTHING), 1.0))
    kept = (draws.accept[round_.grid] < keep) & round_.is_draft
    num_accepted = (kept * length).amax(dim=1) if round_.width else torch.zeros_like(round_.num_drafts)

    def repair(requests: Tensor, rows: Tensor) -> Tensor:
        weight = weights[requests, num_accepted[requests]].unsqueeze(1).to(round_.target_probs.dtype)
        return draw(
            residual(weight * round_.target_probs[rows], proposal_rows(round_, rows, law.drawable)),
            draws.repair[rows],
        )

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


def _missing_mass(round_: Round, law: DraftProbabilities, weight: Tensor) -> Tensor:
    """A = Σ_x (weight · P(x) − Q(x))₊ at each place, float64 [batch, width].

    Point masses need no row of the vocabulary; first drafts and places that are no drafts are not read.
    """
    target, drawable = law.target.double()[round_.grid], law.drawable[round_.grid]
    missing = torch.where(drawable, weight * (1 - target), weight)
    if round_.draft_probs is not None:
        stochastic = drawable & round_.is_draft
        if round_.point_mass is not None:
            stochastic &= ~round_.point_mass[round_.grid]
        stochastic[:, :1] = False
        rows = round_.grid[stochastic]
        if len(rows):
            excess = round_.target_probs[rows] * weight[stochastic].unsqueeze(1).to(round_.target_probs.dtype)
            excess -= round_.draft_probs[rows]
            missing[stochastic] = excess.clamp_min_(0).sum(dim=-1, dtype=torch.float64)
    return missing
