"""PROPOSALS: from the tokens of each request to a draft of what follows. Pure; knows nothing of vLLM.

A drafter confers no exactness: the verifier does. A drafter that users write is a class with the two methods of
Drafter, named in the settings by its import path.
"""

from verispec.drafting.proposal import Drafter, DrafterError, DraftRequest, Proposal, SparseLaw
from verispec.drafting.registry import DRAFTERS, make_drafter

__all__ = [
    "DRAFTERS",
    "DraftRequest",
    "Drafter",
    "DrafterError",
    "Proposal",
    "SparseLaw",
    "make_drafter",
]
