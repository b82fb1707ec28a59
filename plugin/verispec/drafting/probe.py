"""Drafts to measure steps with: of every length, whatever comes of them. For `verispec calibrate`."""

from collections.abc import Collection, Sequence
from itertools import count

import numpy as np

from verispec.drafting.proposal import DraftRequest, Proposal

SIZES = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Drafts in a step, in all."""


class ProbeDrafter:
    """Repeats the last token, as often as makes the step one of the sizes: each in turn, none in every other step."""

    def __init__(self) -> None:
        self._steps = count()

    def propose(self, requests: Sequence[DraftRequest]) -> list[Proposal]:
        """Drafts that are likely to be rejected; that costs what being kept would."""
        rooms = np.array([request.max_tokens for request in requests])
        sizes = [size for size in SIZES if size <= rooms.sum()]
        step = next(self._steps)
        wanted = sizes[step // 2 % len(sizes)] if step % 2 else 0
        lengths = np.minimum((wanted + np.arange(len(rooms))) // max(len(rooms), 1), rooms)
        return [
            Proposal([int(request.token_ids[-1])] * int(length))
            for request, length in zip(requests, lengths, strict=True)
        ]

    def forget(self, request_ids: Collection[str]) -> None:
        """Nothing is kept."""
