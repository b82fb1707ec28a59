"""One verification round: a ragged batch of drafts with their target rows, the random draws, and the verdict."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from verispec.coupling.keyed import Stream, keys, uniform

PADDING = -1
"""Token id of an empty output slot, and of a draft that must be rejected."""


@dataclass(frozen=True)
class Verdict:
    """What a round commits.

    Attributes:
        token_ids: int64 [batch, max_draft + 1]: accepted drafts, then the repair or the bonus token, then -1.
        num_accepted: int64 [batch]: drafts kept, always a prefix.

    """

    token_ids: Tensor
    num_accepted: Tensor


@dataclass(frozen=True)
class Round:
    """Drafts of all requests, concatenated; row j of the target is its law at the position of draft j.

    Attributes:
        draft_token_ids: int64 [num_tokens]; -1 is always rejected.
        cu_num_draft_tokens: int64 [batch], inclusive cumulative counts, as in vLLM's SpecDecodeMetadata.
        target_probs: float [num_tokens, vocab], after the sampling transformation.
        draft_probs: float [num_tokens, vocab], the law each draft was drawn from; None: all are point masses.
        point_mass: bool [num_tokens], rows whose draft is a point mass (their row of draft_probs is not read).
        bonus_token_ids: int64 [batch], drawn from the target at the position after the last draft.

    """

    draft_token_ids: Tensor
    cu_num_draft_tokens: Tensor
    target_probs: Tensor
    draft_probs: Tensor | None
    point_mass: Tensor | None
    bonus_token_ids: Tensor

    @cached_property
    def num_drafts(self) -> Tensor:
        """Drafts per request, int64 [batch]."""
        return torch.diff(self.cu_num_draft_tokens, prepend=self.cu_num_draft_tokens.new_zeros(1))

    @cached_property
    def first_row(self) -> Tensor:
        """Row of each request's first draft, int64 [batch]."""
        return self.cu_num_draft_tokens - self.num_drafts

    @cached_property
    def width(self) -> int:
        """Drafts of the request that has most."""
        return int(self.num_drafts.max()) if len(self.num_drafts) else 0

    @cached_property
    def places(self) -> Tensor:
        """0, 1, … width − 1."""
        return torch.arange(self.width, device=self.num_drafts.device)

    @cached_property
    def grid(self) -> Tensor:
        """Row of each request's drafts, int64 [batch, width]; beyond a request's last draft some other row stands."""
        return (self.first_row.unsqueeze(1) + self.places).clamp_max(max(0, len(self.draft_token_ids) - 1))

    @cached_property
    def is_draft(self) -> Tensor:
        """Which places of the grid are drafts, bool [batch, width]."""
        return self.places < self.num_drafts.unsqueeze(1)

    def length_of_accepted_prefix(self, accepted: Tensor) -> Tensor:
        """Per request, how many drafts come before its first that is not accepted, int64 [batch].

        Args:
            accepted: bool [num_tokens].

        """
        return (accepted[self.grid] & self.is_draft).cumprod(dim=1).sum(dim=1)

    def row_of_repair(self, num_accepted: Tensor) -> Tensor:
        """Row at which each request was cut, int64 [batch]; some row for those that were not."""
        return (self.first_row + num_accepted).clamp_max(max(0, len(self.draft_token_ids) - 1))

    def commit(self, num_accepted: Tensor, last_token_ids: Tensor) -> Verdict:
        """Lay out each request's accepted drafts, then its last token (repair or bonus).

        Args:
            num_accepted, last_token_ids: int64 [batch].

        """
        token_ids = self.bonus_token_ids.new_full((len(self.num_drafts), self.width + 1), PADDING)
        kept = self.places < num_accepted.unsqueeze(1)
        token_ids[:, : self.width] = torch.where(kept, self.draft_token_ids[self.grid], PADDING)
        token_ids.scatter_(1, num_accepted.unsqueeze(1), last_token_ids.unsqueeze(1))
        return Verdict(token_ids, num_accepted)

    def repair_and_commit(self, num_accepted: Tensor, repair: Callable[[Tensor, Tensor], Tensor]) -> Verdict:
        """Commit; the bonus where all drafts were kept, elsewhere what `repair` draws.

        Args:
            num_accepted: int64 [batch].
            repair: from (requests, rows), int64 [number of cut requests] each, to their tokens.

        """
        last = self.bonus_token_ids.clone()
        cut = (num_accepted < self.num_drafts).nonzero().squeeze(1)
        if len(cut):
            last[cut] = repair(cut, (self.first_row + num_accepted)[cut])
        return self.commit(num_accepted, last)


@dataclass(frozen=True)
class Draws:
    """The random numbers that a rule consumes: independent of each other and of whatever drew the drafts.

    Attributes:
        accept: float64 [num_tokens], uniform on [0, 1): keeps draft j or not.
        repair: float64 [num_tokens], uniform on [0, 1): draws the repair at the row of the cut.
        own: int64 [num_tokens], key of the target's own draw at the position of draft j.

    """

    accept: Tensor
    repair: Tensor
    own: Tensor

    @classmethod
    def keyed(cls, round_: Round, seeds: Tensor, positions: Tensor) -> "Draws":
        """Draw for a round by (seed, position, stream): see verispec.coupling.keyed.

        What accepts is keyed by the round's first position too. Block lets the uniforms of drafts beyond the cut decide
        where the cut is; the next round, which drafts at their positions, needs others.

        Args:
            round_: the drafts.
            seeds: int64 [batch].
            positions: int64 [batch], index of each request's first draft in its prompt and output together.

        """
        count = len(round_.draft_token_ids)
        request = torch.repeat_interleave(round_.num_drafts, output_size=count)
        place = torch.arange(count, device=request.device) - round_.first_row[request]
        seed, position = seeds[request], positions[request] + place
        own = keys(seed, position, Stream.OWN)
        of_round = keys(seed, positions[request], Stream.ACCEPT)
        return cls(accept=uniform(keys(of_round, position, Stream.ACCEPT)), repair=uniform(own), own=own)

    @classmethod
    def from_generator(
        cls, round_: Round, generator: torch.Generator | Mapping[int, torch.Generator] | None
    ) -> "Draws":
        """Draw for a round: from one generator, or from each request's own ({batch row: generator}) where it has one.

        float64, because a float32 uniform is exactly 0 once in 2^24 draws and would accept any draft there. A request
        without drafts consumes nothing of its own generator.
        """
        shared = None if isinstance(generator, Mapping) else generator
        own = generator if isinstance(generator, Mapping) else {}
        count, device = len(round_.draft_token_ids), round_.target_probs.device
        uniforms = torch.rand(2, count, dtype=torch.float64, device=device, generator=shared)
        keys = torch.empty(count, dtype=torch.int64, device=device).random_(-(2**63), None, generator=shared)
        if own:
            ends = round_.cu_num_draft_tokens.tolist()
            for row, request_generator in own.items():
                rows = slice(ends[row - 1] if row else 0, ends[row])
                if rows.stop > rows.start:
                    uniforms[:, rows].uniform_(generator=request_generator)
                    keys[rows].random_(-(2**63), None, generator=request_generator)
        return cls(accept=uniforms[0], repair=uniforms[1], own=keys)
