"""What a drafter is asked, and what it answers."""

from __future__ import annotations  # a scenario's drafters are looked at where there may be no torch

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
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
        tenant: whom the request is for; no text may pass from one tenant to another. None: not said.

    """

    request_id: str
    token_ids: NDArray[np.int32]
    max_tokens: int
    temperature: float = 0.0
    seed: int | None = None
    tenant: str | None = None


@dataclass(frozen=True)
class SparseLaw:
    """The law of each drafted token, where it is not 0: a choice between a few. A lone choice is a point mass.

    Attributes:
        choices: int64 [drafts, most choices]; the rest of a row is -1.
        probs: float32 [drafts, most choices], 0 at the rest; each row sums to 1.

    """

    choices: Tensor
    probs: Tensor

    def __len__(self) -> int:
        return len(self.choices)

    def of_first(self, drafts: int) -> SparseLaw:
        """The law of the first drafts only."""
        return SparseLaw(self.choices[:drafts], self.probs[:drafts])

    def add_to(self, dense: Tensor) -> None:
        """Write into rows of zeros, float [drafts, vocab]."""
        dense.scatter_add_(1, self.choices.clamp_min(0).to(dense.device), self.probs.to(dense))

    @property
    def point_mass(self) -> Tensor:
        """Which drafts had no alternative, bool [drafts]."""
        return (self.choices >= 0).sum(dim=1) == 1


@dataclass(frozen=True)
class Proposal:
    """A draft, possibly empty.

    Attributes:
        token_ids: the drafted tokens, at most max_tokens.
        probs: float [len(token_ids), vocab], or a SparseLaw: what each token was drawn from, given the drafts before
            it; None if the draft is a deterministic function of the history (a point mass).
        acceptance: estimated chance of each token to be kept if those before it are; None: the drafter has no idea. How
            much of a draft is submitted depends on it: with probs it must be a function of the history, not of what
            was drawn (else the output is biased). The controller learns how far to trust it.
        source: which of several drafters this is from; they are trusted apart.

    """

    token_ids: Sequence[int] = ()
    probs: Tensor | SparseLaw | None = None
    acceptance: Sequence[float] | NDArray[np.float64] | None = None
    source: str = ""


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
