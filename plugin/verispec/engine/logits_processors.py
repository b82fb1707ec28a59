"""min_p, logit_bias, min_tokens and custom logits processors under speculation, as a target-only server applies them.

vLLM refuses the first two and the last with speculation, and applies min_tokens at the position after the drafts as if
nothing had been drafted. Here bias and min_p are applied at each drafted position too; a request with a custom
processor, whose state knows committed tokens only, is served without drafts.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import torch
from torch import Tensor

LIST_DRAFTERS = ("custom_class", "ngram", "suffix")
"""Methods that draft on the processor, a list for each request, each trimmed to its request's own room."""


def can_serve_all(speculative_config: Any) -> bool:
    """Whatever logits processor a request of this server uses, it can be served, if need be without drafts."""
    return speculative_config is not None and speculative_config.method in LIST_DRAFTERS


def load_all(original: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt build_logitsprocs: load what a target-only server would load."""

    def build_logitsprocs(vllm_config: Any, device: Any, is_pin_memory: bool, *args: Any, **kwargs: Any) -> Any:
        if can_serve_all(vllm_config.speculative_config):
            vllm_config = copy.copy(vllm_config)
            vllm_config.speculative_config = None
        return original(vllm_config, device, is_pin_memory, *args, **kwargs)

    return build_logitsprocs


def apply_at_drafts(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Adapt RejectionSampler.apply_logits_processors, which sees the drafted positions: [num_tokens, vocab]."""

    def apply_logits_processors(self: Any, logits: Tensor, sampling_metadata: Any, metadata: Any) -> Tensor:
        request = torch.tensor([row for row, count in enumerate(metadata.num_draft_tokens) for _ in range(count)])
        _apply_bias(logits, sampling_metadata, request)
        logits = original(self, logits, sampling_metadata, metadata)
        return _apply_min_p(logits, sampling_metadata, request)

    return apply_logits_processors


def _apply_bias(logits: Tensor, sampling_metadata: Any, request: Tensor) -> None:
    from vllm.v1.sample.logits_processor.builtin import LogitBiasLogitsProcessor

    for processor in _of_type(sampling_metadata.logitsprocs, LogitBiasLogitsProcessor):
        for row, bias in processor.biases.items():
            positions = (request == row).nonzero().to(logits.device)
            tokens = torch.tensor(list(bias), device=logits.device)
            logits[positions, tokens] += torch.tensor(list(bias.values()), device=logits.device)


def _apply_min_p(logits: Tensor, sampling_metadata: Any, request: Tensor) -> Tensor:
    """Drop p(x) < min_p · max p at temperature T; said of logits before T: x < max + T · log(min_p)."""
    from vllm.v1.sample.logits_processor.builtin import MinPLogitsProcessor

    for processor in _of_type(sampling_metadata.logitsprocs, MinPLogitsProcessor):
        if processor.min_p_count and not sampling_metadata.all_greedy:
            request = request.to(logits.device)
            min_p = processor.min_p.squeeze(1)
            margin = torch.where(min_p > 0, sampling_metadata.temperature * min_p.log(), -torch.inf)
            least = logits.amax(dim=-1, keepdim=True) + margin[request].unsqueeze(1)
            logits = logits.masked_fill(logits < least, -torch.inf)
    return logits


@contextmanager
def min_tokens_after_drafts(logitsprocs: Any, num_drafts: Sequence[int]) -> Iterator[None]:
    """While the token after the drafts is sampled, drafts count towards min_tokens, and stop tokens are let through.

    That token is committed only if all drafts are.
    """
    from vllm.v1.sample.logits_processor.builtin import MinTokensLogitsProcessor

    (processor,) = _of_type(logitsprocs, MinTokensLogitsProcessor)
    saved = processor.logits_slice, processor.restore_logits_slice
    reached = [
        row
        for row, (min_tokens, output, *_) in processor.min_toks.items()
        if num_drafts[row] and len(output) + num_drafts[row] >= min_tokens
    ]

    def still_held_back(entries: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        rows, tokens = entries
        kept = ~torch.isin(rows, torch.tensor(reached, device=rows.device))
        return rows[kept], tokens[kept]

    try:
        if reached:
            processor.logits_slice, processor.restore_logits_slice = map(still_held_back, saved)
        yield
    finally:
        processor.logits_slice, processor.restore_logits_slice = saved


def rows_with_custom_processors(logitsprocs: Any, count: int) -> set[int]:
    """Of the first `count` batch rows, those whose processors could not follow drafts."""
    from vllm.v1.sample.logits_processor import BUILTIN_LOGITS_PROCESSORS, AdapterLogitsProcessor

    rows: set[int] = set()
    for processor in logitsprocs.all:
        if isinstance(processor, AdapterLogitsProcessor):
            rows |= processor.req_info.keys()
        elif not isinstance(processor, tuple(BUILTIN_LOGITS_PROCESSORS)):
            return set(range(count))
    return {row for row in rows if row < count}


def _of_type(logitsprocs: Any, wanted: type) -> Iterator[Any]:
    return (p for p in chain(logitsprocs.non_argmax_invariant, logitsprocs.argmax_invariant) if isinstance(p, wanted))
