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
    """Keep the longest prefix whose uniform allows it; the uniform of row j judges the prefix that ends there."""
    law = probabilities_of_drafts(round_)
    weight_after = _prefix_weights(round_, law)
    is_first = round_.position_of_row == 0
    weight_before = torch.where(is_first, torch.ones_like(weight_after), weight_after.roll(1))
    missing = _missing_mass(round_, law, weight_before)

    # Row j judges the prefix that ends with its draft by what is missing at the row after it; the last by its weight.
    is_last = round_.position_of_row == round_.num_drafts[round_.request_of_row] - 1
    gap = missing.roll(-1) + 1 - weight_after
    keep = torch.where(
        is_last, weight_after, torch.where(gap > NOTHING, missing.roll(-1) / gap.clamp_min(NOTHING), 1.0)
    )
    kept_length = torch.where(draws.accept < keep, round_.position_of_row + 1, 0)
    num_accepted = torch.zeros_like(round_.num_drafts).scatter_reduce(0, round_.request_of_row, kept_length, "amax")

    rejected = num_accepted < round_.num_drafts
    rows = (round_.first_row + num_accepted)[rejected]
    weighted = weight_before[rows].unsqueeze(-1) * round_.target_probs[rows]
    repair_law = residual(weighted, proposal_rows(round_, rows, law.drawable))
    return round_.commit(num_accepted, draw(repair_law, draws.repair[rejected]))


NOTHING = 1e-12
"""Below this 0/0 is meant: rounding leaves neither missing mass nor a gap exactly 0."""


def _prefix_weights(round_: Round, law: DraftProbabilities) -> Tensor:
    """p_{j+1} at each row j, float64 [num_tokens]: sequential in the position, all requests at once."""
    ratio = torch.where(law.drawable, law.target.double() / law.proposal.double(), 0.0)
    weight = torch.empty_like(ratio)
    running = ratio.new_ones(len(round_.num_drafts))
    for position in range(int(round_.num_drafts.max()) if len(round_.num_drafts) else 0):
        here = round_.position_of_row == position
        requests = round_.request_of_row[here]
        running[requests] = (running[requests] * ratio[here]).clamp_max(1)
        weight[here] = running[requests]
    return weight


def _missing_mass(round_: Round, law: DraftProbabilities, weight: Tensor) -> Tensor:
    """A = Σ_x (weight · P(x) − Q(x))₊ at each row, float64 [num_tokens]; point masses need no row of the vocabulary."""
    missing = torch.where(law.drawable, weight * (1 - law.target.double()), weight)
    if round_.draft_probs is not None:
        stochastic = law.drawable if round_.point_mass is None else law.drawable & ~round_.point_mass
        rows = stochastic.nonzero().squeeze(-1)
        p, q = round_.target_probs[rows].double(), round_.draft_probs[rows].double()
        missing[rows] = (weight[rows].unsqueeze(-1) * p - q).clamp_min(0).sum(dim=-1)
    return missing
