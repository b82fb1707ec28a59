"""What a drafter is asked, and what it answers."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True)
class DraftRequest:
    """One request that could use a draft.

    Attributes:
        request_id: stable over the life of the request; batch rows are not.
        token_ids: int32 [length], prompt and committed output; a view that is valid during the call only.
        max_tokens: how many drafts may be proposed at most, at least 1.
        temperature: 0 for greedy requests.
        seed: of a seeded request; a drafter that draws should then draw from keys(seed, len(token_ids), Stream.DRAFT)
            of verispec.coupling.keyed, so that the same drafts come again, and none of them in a later round.

    """

    request_id: str
    token_ids: NDArray[np.int32]
    max_tokens: int
    temperature: float = 0.0
    seed: int | None = None


@dataclass(frozen=True)
class Proposal:
    """A draft, possibly empty.

    Attributes:
        token_ids: the drafted tokens, at most max_tokens.
        probs: float [len(token_ids), vocab], the law that each token was drawn from, given the drafts before it; None
            if the draft is a deterministic function of the history (a point mass).

    """

    token_ids: Sequence[int] = ()
    probs: Tensor | None = None


class DrafterError(ValueError):
    """The settings name no usable drafter, or options that it cannot work with: the server does not start."""


class Drafter(Protocol):
    """Maps token histories to proposals. Between two calls a request's history only grows."""

    def propose(self, requests: Sequence[DraftRequest]) -> Sequence[Proposal]:
        """One proposal for each request, in order."""
        ...

    def forget(self, request_ids: Collection[str]) -> None:
        """These requests have ended: drop what is kept for them."""
        ...
