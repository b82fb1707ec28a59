"""Suffix lookup that draws: where earlier occurrences disagree on what follows, each is drafted in its share.

At temperature > 0 a draft that is one token where the target may say several is kept with p(x); one that is drawn from
q is kept with min(1, p(x)/q(x)), in all with the overlap of p and q, which is more where q is like p.
"""

from collections.abc import Sequence

import numpy as np
import torch

from verispec.drafting.proposal import DrafterError, DraftRequest, Proposal, SparseLaw
from verispec.drafting.suffix import SuffixDrafter

SOURCE = "drawn"


class StochasticSuffixDrafter(SuffixDrafter):
    """Draws each token from the votes of the earlier occurrences, to a power: a true q.

    Greedy and seeded requests get the most voted tokens instead: drawing gains nothing for the first, and would make
    the second depend on how much is drafted.

    Args:
        sharpness: 1 draws from the shares of votes; more favours the most voted, infinitely more is SuffixDrafter.
        options: of SuffixDrafter.

    Raises:
        DrafterError: a setting out of range.

    """

    def __init__(self, sharpness: float = 1.0, **options: int) -> None:
        if isinstance(sharpness, bool) or not isinstance(sharpness, int | float) or not sharpness > 0:
            raise DrafterError(f"sharpness: {sharpness!r} is no positive number")
        self._sharpness = float(sharpness)  # of another type it would be compiled for anew
        self._random = np.random.default_rng()
        super().__init__(**options)

    def propose(self, requests: Sequence[DraftRequest]) -> list[Proposal]:
        """A draw of what followed the best matches, for each request that has any."""
        return [
            self._draw(request) if request.temperature > 0 and request.seed is None else self._propose(request)
            for request in requests
        ]

    def _draw(self, request: DraftRequest) -> Proposal:
        likely = self._propose(request)
        drafted = self._continue(request, self._random.random(request.max_tokens), self._sharpness)
        # As long as the likeliest draft, and estimated like it: neither depends on what was drawn.
        drafted = min(drafted, len(likely.token_ids))
        law = SparseLaw(
            torch.from_numpy(self._room.choices[:drafted].astype(np.int64)),
            torch.from_numpy(self._room.law[:drafted].astype(np.float32)),
        )
        token_ids = self._room.token_ids[:drafted].tolist()
        return Proposal(token_ids, law if drafted else None, likely.acceptance, SOURCE)
