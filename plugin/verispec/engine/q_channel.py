"""Carries each draft's law q from the step that drew it to the step that verifies it, keyed by request id.

Batch rows move between the two steps (requests end, arrive, are preempted), so rows are never trusted: a row of q is
used only if the request and the drafted tokens are those it was sent for. Otherwise the draft counts as a point mass,
which is exact whatever the drafter did, and is counted.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from verispec.drafting import SparseLaw
from verispec.engine.counters import Counters


@dataclass(frozen=True)
class DraftLaw:
    """The drafts of one request and their law, probs float [len(token_ids), vocab] or sparse."""

    token_ids: list[int]
    probs: Tensor | SparseLaw


class QChannel:
    """Holds the latest draft law of each request that has one."""

    def __init__(self, counters: Counters) -> None:
        self._laws: dict[str, DraftLaw] = {}
        self._counters = counters

    def send(self, request_id: str, law: DraftLaw | None) -> None:
        """Replace what is held for a request; None: its latest draft is a point mass, or there is none."""
        if law is None:
            self._laws.pop(request_id, None)
        else:
            self._laws[request_id] = law

    def forget(self, request_ids: Collection[str]) -> None:
        """These requests have ended."""
        for request_id in request_ids:
            self._laws.pop(request_id, None)

    def receive(
        self, request_ids: Sequence[str], num_draft_tokens: Sequence[int], draft_token_ids: Tensor, vocab_size: int
    ) -> tuple[Tensor | None, Tensor | None]:
        """Line q up with the rows that are verified now.

        Args:
            request_ids: by batch row, as they stand now.
            num_draft_tokens: drafts that the scheduler kept for each.
            draft_token_ids: int [num_tokens], those drafts.
            vocab_size: of the target.

        Returns:
            draft_probs float32 [num_tokens, vocab] and point_mass bool [num_tokens]; (None, None) if all rows are
            point masses.

        """
        if not self._laws:
            return None, None
        drafts = draft_token_ids.tolist()
        sent: list[tuple[slice, Tensor | SparseLaw]] = []
        row = 0
        for request_id, count in zip(request_ids, num_draft_tokens, strict=False):
            law = self._laws.get(request_id) if count else None
            if law is not None:
                if law.token_ids[:count] == drafts[row : row + count]:
                    sent.append((slice(row, row + count), law.probs))
                    self._counters.rows_with_draft_probs += count
                else:
                    self._counters.rows_without_draft_probs += count
            row += count
        if not sent:
            return None, None
        draft_probs = torch.zeros(len(drafts), vocab_size, device=draft_token_ids.device)
        point_mass = torch.ones(len(drafts), dtype=torch.bool, device=draft_token_ids.device)
        for rows, probs in sent:
            count = rows.stop - rows.start
            if isinstance(probs, SparseLaw):
                probs.of_first(count).add_to(draft_probs[rows])
                point_mass[rows] = probs.of_first(count).point_mass.to(point_mass.device)
            else:
                draft_probs[rows] = probs[:count]
                point_mass[rows] = False
        return draft_probs, point_mass
