"""Typical acceptance (Medusa: Cai et al., 2401.10774). APPROXIMATE: the law that is committed is not the target's.

A draft is kept while it is not too unlikely for the entropy H of the target there: p(x) ≥ min(ε, δ·exp(−H)), H in nats.
What replaces the first that is not is drawn from the target. How far the law is bent depends on p and on what is
drafted; it needs a quality contract of its own, and is never counted as exact.
"""

import torch

from verispec.coupling.draft_law import probabilities_of_drafts
from verispec.coupling.round import Draws, Round, Verdict
from verispec.coupling.sampling import draw

EPSILON, DELTA = 0.09, 0.3


def decide(round_: Round, draws: Draws, *, epsilon: float = EPSILON, delta: float = DELTA) -> Verdict:
    """Accept by the threshold, cut, and draw from the target."""
    target, _, drawable = probabilities_of_drafts(round_)
    entropy = torch.special.entr(round_.target_probs).sum(dim=-1)
    threshold = (delta * torch.exp(-entropy)).clamp_max(epsilon)
    num_accepted = round_.length_of_accepted_prefix(drawable & (target >= threshold))
    return round_.repair_and_commit(
        num_accepted, lambda requests, rows: draw(round_.target_probs[rows], draws.repair[rows])
    )
