"""Greedy verification: drafts are kept while they equal the target's argmax; at the first other one the argmax wins.

This is the token rule for a target whose rows are point masses at their argmax, without building those rows: the
committed tokens are the sequence that target-only greedy decoding would have emitted.
"""

import torch

from verispec.coupling.round import Draws, Round, Verdict


def decide(round_: Round, draws: Draws | None = None) -> Verdict:
    """Compare with the argmax of each target row (probabilities or logits alike); nothing is drawn."""
    if not len(round_.draft_token_ids):
        return round_.commit(torch.zeros_like(round_.num_drafts), round_.bonus_token_ids)
    best = round_.target_probs.argmax(dim=-1)
    num_accepted = round_.length_of_accepted_prefix(round_.draft_token_ids == best)
    repair = best[round_.row_of_repair(num_accepted)]
    return round_.commit(num_accepted, torch.where(num_accepted < round_.num_drafts, repair, round_.bonus_token_ids))
