"""Verification by the target's own keyed draw: a draft is kept iff it is what the target would have drawn itself.

At every position the target's own token is a function of its law and of a key (Gumbel-max, by exponential races).
Each position commits exactly that token, so the committed sequence *is* the one that target-only decoding draws with
the same keys: its law is the target's, and it does not depend on what was drafted or how much ("drafter-invariant":
Daliri et al., 2408.07978). The draft law q is not needed. A draft that was chosen without knowledge of the key is kept
with probability p(x), as often as the token rule keeps a point mass; one that was drawn from q by a race with the same
key, with probability at least (1 − TV) / (1 + TV) (in vocabularies of one block).
"""

from verispec.coupling.round import Draws, Round, Verdict
from verispec.coupling.sampling import race


def decide(round_: Round, draws: Draws) -> Verdict:
    """Draw the target's own token at each draft's position, keep drafts while they are equal, commit it at the cut."""
    own = race(round_.target_probs, draws.own)
    num_accepted = round_.length_of_accepted_prefix(round_.draft_token_ids == own)
    return round_.repair_and_commit(num_accepted, lambda requests, rows: own[rows])
