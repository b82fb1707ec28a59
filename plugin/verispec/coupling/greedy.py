"""Greedy verification: drafts are kept while they equal the target's argmax; at the first other one the argmax wins.

This is the token rule for a target whose rows are point masses at their argmax, without building those rows: the
committed tokens are the sequence that target-only greedy decoding would have emitted.
"""

from verispec.coupling.round import Draws, Round, Verdict


def decide(round_: Round, draws: Draws | None = None) -> Verdict:
    """Compare with the argmax of each target row (probabilities or logits alike); nothing is drawn."""
    best = round_.target_probs.argmax(dim=-1)
    num_accepted = round_.length_of_accepted_prefix(round_.draft_token_ids == best)
    rejected = num_accepted < round_.num_drafts
    return round_.commit(num_accepted, best[(round_.first_row + num_accepted)[rejected]])
