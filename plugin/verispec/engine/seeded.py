"""Seeded requests draw by (seed, position) instead of by a torch generator that would have to be rolled back.

Their tokens are then a function of the prompt and the seed: the same whatever is drafted, in whatever batch, and the
same as those of a target-only server that draws by the same keys.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from verispec.coupling.keyed import Stream, keys
from verispec.coupling.sampling import race
from verispec.engine import runtime


@dataclass(frozen=True)
class SeededRequests:
    """The batch of a step, as far as its draws are keyed.

    Attributes:
        rows: int64 [number of seeded requests], their batch rows.
        is_seeded: bool [batch].
        seeds: int64 [batch]; a fresh random one for each request that has none.
        positions: int64 [batch], index of the first token that this step draws for each request.
        num_drafts: int64 [batch], drafts that are verified in this step.

    """

    rows: Tensor
    is_seeded: Tensor
    seeds: Tensor
    positions: Tensor
    num_drafts: Tensor

    @classmethod
    def in_batch(cls, runner: Any, num_drafts: list[int]) -> "SeededRequests | None":
        """Those of the model runner's current batch; None if no request is seeded."""
        batch = runner.input_batch
        if not batch.generators:
            return None
        rows = sorted(batch.generators)
        own = [runner.requests[batch.req_ids[row]].sampling_params.seed for row in rows]
        size = batch.num_reqs
        seeds = torch.empty(size, dtype=torch.int64).random_(-(2**63), None)
        seeds[rows] = torch.tensor(own, dtype=torch.int64)
        is_seeded = torch.zeros(size, dtype=torch.bool)
        is_seeded[rows] = True
        tensors = (
            torch.tensor(rows),
            is_seeded,
            seeds,
            torch.from_numpy(batch.num_tokens_no_spec[:size]).long(),
            torch.tensor(num_drafts),
        )
        return cls(*(tensor.to(runner.device) for tensor in tensors))

    def draw_last(self, probs: Tensor) -> Tensor:
        """The target's own token after the last draft of each seeded request, int64 [number of seeded requests].

        Args:
            probs: float [number of seeded requests, vocab].

        """
        position = self.positions[self.rows] + self.num_drafts[self.rows]
        return race(probs, keys(self.seeds[self.rows], position, Stream.OWN))


def draw_by_key(original: Callable[..., None]) -> Callable[..., None]:
    """Adapt the constructor of vLLM's top-k/top-p sampler: its instances draw seeded rows by their keys."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        from vllm.v1.sample.ops.topk_topp_sampler import apply_top_k_top_p

        original(self, *args, **kwargs)
        sample = self.forward

        def forward(logits: Tensor, generators: dict[int, Any], k: Tensor | None, p: Tensor | None) -> Any:
            seeded = runtime.current().seeded
            if seeded is None:
                return sample(logits, generators, k, p)
            logits = apply_top_k_top_p(logits, k, p)
            tokens, returned = sample(logits, {}, None, None)
            tokens[seeded.rows] = seeded.draw_last(logits[seeded.rows].softmax(dim=-1, dtype=torch.float32))
            return tokens, returned

        self.forward = forward

    return __init__


def leave_generators_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt the bookkeeping after a step: it rewinds generators, which keyed draws never advance."""

    def _bookkeeping_sync(self: Any, *args: Any, **kwargs: Any) -> Any:
        generators, self.input_batch.generators = self.input_batch.generators, {}
        try:
            return original(self, *args, **kwargs)
        finally:
            self.input_batch.generators = generators

    return _bookkeeping_sync
