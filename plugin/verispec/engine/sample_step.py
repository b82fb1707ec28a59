"""The sampling of a step: ordinary where nothing was drafted, keyed where seeded, refused where there is no law."""

import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from verispec.engine import runtime
from verispec.engine.logits_processors import min_tokens_after_drafts
from verispec.engine.seeded import SeededRequests

logger = logging.getLogger("vllm.verispec")


def sample_step(original: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt GPUModelRunner._sample."""

    def _sample(self: Any, logits: Tensor | None, spec_decode_metadata: Any) -> Any:
        drafted = spec_decode_metadata is not None and spec_decode_metadata.max_spec_len > 0
        num_drafts = spec_decode_metadata.num_draft_tokens if drafted else [0] * self.input_batch.num_reqs
        state = runtime.current()
        if logits is not None and state.speculative:
            for row in rows_without_law(logits, num_drafts):
                if not self.discard_request_mask.np[row]:  # a prompt that is not complete samples nothing
                    _fail(self.input_batch.req_ids[row])
        state.seeded = SeededRequests.in_batch(self, num_drafts)
        try:
            with min_tokens_after_drafts(self.input_batch.logitsprocs, num_drafts):
                return original(self, logits, spec_decode_metadata if drafted else None)
        finally:
            state.seeded = None

    return _sample


def rows_without_law(logits: Tensor, num_drafts: Sequence[int]) -> list[int]:
    """Batch rows whose target logits hold a NaN.

    Args:
        logits: float [sum of num_drafts + batch, vocab]: of each request its drafted positions and the one after.
        num_drafts: of each request.

    """
    broken = logits.sum(dim=-1, dtype=torch.float32).isnan()
    if not bool(broken.any()):
        return []
    of_request = [row for row, count in enumerate(num_drafts) for _ in range(count + 1)]
    return sorted({of_request[i] for i in broken.nonzero().squeeze(1).tolist()})


def _fail(request_id: str) -> None:
    """Have this request ended; the tokens that are still sampled for it go nowhere."""
    logger.error("verispec: the target's logits for request %s are not numbers: it ends with an error", request_id)
    state = runtime.current()
    state.counters.failed_rows += 1
    state.failed.add(request_id)


def report_failed(original: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt GPUModelRunner._bookkeeping_sync: its first result tells the scheduler of NaNs, by request."""

    def _bookkeeping_sync(self: Any, *args: Any, **kwargs: Any) -> Any:
        failed = runtime.current().failed
        # vLLM's own counts, where they are asked for, take a drafted position for a request.
        _, *rest = original(self, *args, **kwargs)
        num_nans_in_logits = dict.fromkeys(failed, 1)
        failed.clear()
        return num_nans_in_logits, *rest

    return _bookkeeping_sync
