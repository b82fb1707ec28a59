"""Readers of each kind of decoder state that a rejected draft could spoil; they change nothing.

They are called between two steps of an engine, with a request that has at least one token and is not yet finished.
Target-only and speculative engines are read alike: snapshots of the same committed tokens can be compared.
"""

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from math import inf
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tests.engine.tiny import Engine, name_of
from verispec.drafting import DraftRequest, make_drafter
from verispec.engine.seeded import SeededRequests


def kv_rows(engine: Engine, request_id: str, count: int, draft: bool = False) -> Tensor:
    """Keys and values at the first positions of a request, float [layers, count, 2 · heads · head size].

    Of the target's layers, or of the draft model's.
    """
    return torch.stack([rows[elements] for rows, elements in _kv_elements(engine, request_id, range(count), draft)])


def write_kv_rows(engine: Engine, request_id: str, position: int, values: Tensor, draft: bool = False) -> None:
    """Overwrite one position, [layers, 1, …] as kv_rows reads it."""
    for (rows, elements), value in zip(
        _kv_elements(engine, request_id, range(position, position + 1), draft), values, strict=True
    ):
        rows[elements] = value


def _kv_elements(engine: Engine, request_id: str, positions: range, draft: bool) -> list[tuple[Tensor, tuple]]:
    """For each layer, its cache as [blocks, elements], and the indices of the positions' elements."""
    size = engine.scheduler.block_size
    (blocks,) = engine.scheduler.kv_cache_manager.get_block_ids(request_id)
    block = torch.tensor([blocks[position // size] for position in positions], dtype=torch.int64)
    offset = torch.tensor([position % size for position in positions], dtype=torch.int64)
    layers = [
        layer
        for name, layer in engine.runner.compilation_config.static_forward_context.items()
        if name.startswith("draft_model") == draft
    ]
    return [
        (layer.kv_cache.view(len(layer.kv_cache), -1), (block[:, None], _slot_elements(layer, size)[offset]))
        for layer in layers
    ]


@cache
def _slot_elements(layer: Any, size: int) -> Tensor:
    """Which elements of a block belong to each slot, int64 [size, elements]: found by writing, as kernels pack them."""
    found = []
    for slot in range(size):
        scratch = torch.zeros_like(layer.kv_cache[:1])
        ones = torch.ones(1, layer.num_kv_heads, layer.head_size, dtype=scratch.dtype)
        layer.impl.do_kv_cache_update(layer, ones, ones, scratch, torch.tensor([slot]))
        found.append(scratch.view(-1).nonzero().squeeze(-1))
    return torch.stack(found)


def target_kv(engine: Engine, request_id: str) -> Tensor:
    """What the next pass will take as computed: every committed token but the last."""
    return kv_rows(engine, request_id, engine.scheduler.requests[request_id].num_computed_tokens)


def grammar(engine: Engine, request_id: str) -> tuple | None:
    """Accepted tokens, whether it has ended, and which tokens may come next."""
    structured = engine.scheduler.requests[request_id].structured_output_request
    if structured is None:
        return None
    vocabulary = engine.runner.model_config.get_vocab_size()
    mask = torch.zeros((1, -(-vocabulary // 32)), dtype=torch.int32)
    if not structured.grammar.is_terminated():
        structured.grammar.fill_bitmask(mask, 0)
    return structured.grammar.num_processed_tokens, structured.grammar.is_terminated(), mask.tolist()


def penalties(engine: Engine, request_id: str) -> tuple[list[int], list[int]]:
    """The output that penalties, bad words and min_tokens count, and the history that drafters see."""
    batch = engine.runner.input_batch
    row = batch.req_id_to_index[request_id]
    history = batch.token_ids_cpu[row, : batch.num_tokens_no_spec[row]]
    return list(batch.req_output_token_ids[row]), history.tolist()


def random_state(engine: Engine, request_id: str) -> tuple | None:
    """Of a seeded request: the position of its next draw, and its untouched generator."""
    batch = engine.runner.input_batch
    row = batch.req_id_to_index[request_id]
    if row not in batch.generators:
        return None
    seeded = SeededRequests.in_batch(engine.runner, [0] * batch.num_reqs)
    return int(seeded.positions[row]), sha256(batch.generators[row].get_state().numpy()).hexdigest()


def stop_buffer(engine: Engine, request_id: str) -> tuple | None:
    """Text that stop strings are looked for in, how much of it was handed out, and its tokens."""
    detokenizer = engine.engine.output_processor.request_states[request_id].detokenizer
    if not hasattr(detokenizer, "output_text"):
        return None
    return detokenizer.output_text, detokenizer._last_output_text_offset, list(detokenizer.token_ids)


def usage(engine: Engine, request_id: str) -> tuple[int, int, int]:
    """Generated tokens as the scheduler, the detokenizer and the server's statistics count them."""
    state = engine.engine.output_processor.request_states[request_id]
    return (
        engine.scheduler.requests[request_id].num_output_tokens,
        state.detokenizer.num_output_tokens(),
        state.stats.num_generation_tokens,
    )


def drafter_state(drafter: Any, request_id: str) -> tuple:
    """A suffix drafter's history of a request, and its index."""
    index = drafter._histories[request_id].index
    return index.tokens.tolist(), index._older.tolist(), index._newest.tolist()


def fresh_drafter_state(tokens: list[int]) -> tuple:
    """What it must be after these committed tokens."""
    drafter = make_drafter("suffix", {})
    drafter.propose([DraftRequest("fresh", np.array(tokens, dtype=np.int32), max_tokens=1)])
    return drafter_state(drafter, "fresh")


READERS: dict[str, Callable[[Engine, str], Any]] = {
    "target KV": target_kv,
    "grammar": grammar,
    "penalties": penalties,
    "random state": random_state,
    "stop buffer": stop_buffer,
    "usage": usage,
}


Snapshots = dict[tuple[str, int], dict[str, Any]]
"""By the request's name and the number of its committed tokens: every field, and those tokens."""


def snapshot(engine: Engine, drafter: Any | None = None) -> Snapshots:
    """Of all requests that have answered something; without a drafter, with the state that a drafter should have."""
    taken: Snapshots = {}
    for request in engine.scheduler.running:
        if request.num_output_tokens:
            tokens = list(request.all_token_ids)
            fields = {name: read(engine, request.request_id) for name, read in READERS.items()}
            knows = drafter is not None and request.request_id in drafter._histories
            knows &= request.max_tokens - request.num_output_tokens > 1  # else there is no room for a draft: not asked
            fields["drafter"] = drafter_state(drafter, request.request_id) if knows else fresh_drafter_state(tokens)
            taken[name_of(request.request_id), request.num_tokens] = fields | {"tokens": tokens}
    return taken


def apart(value: Any, other: Any) -> float:
    """Largest difference of two tensors; of all else, 0 if they are equal and infinity if not."""
    if isinstance(value, Tensor):
        return (value - other).abs().max().item() if value.shape == other.shape else inf
    return 0.0 if value == other else inf
