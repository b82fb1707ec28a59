"""Token-by-token verification: speculative sampling (Leviathan et al., 2211.17192; Chen et al., 2302.01318).

At each position a draft x ~ q is kept with probability min(1, p(x)/q(x)); the first rejection cuts the block and is
repaired from (p − q)₊. Kept mass min(p, q) and repaired mass (p − q)₊ add up to p at every position, so that the law
of the committed tokens is the target's, whatever q is.
"""

from verispec.coupling.draft_law import probabilities_of_drafts, repair_weights
from verispec.coupling.round import Draws, Round, Verdict
from verispec.coupling.sampling import draw


def decide(round_: Round, draws: Draws) -> Verdict:
    """Accept, cut and repair."""
    target, proposal, drawable = probabilities_of_drafts(round_)
    num_accepted = round_.length_of_accepted_prefix(drawable & (draws.accept * proposal < target))

    return round_.repair_and_commit(
        num_accepted, lambda requests, rows: draw(repair_weights(round_, rows, drawable), draws.repair[rows])
    )
