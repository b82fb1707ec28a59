"""Which law q each drafted row is verified against: its own where it is known and holds, else it is a point mass."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from verispec.control import Reason
from verispec.engine import runtime
from verispec.engine.proposer import LAW_TOLERANCE, Proposer, has_grammar


def line_up_draft_probs(original: Callable[..., Tensor | None]) -> Callable[..., Tensor | None]:
    """Adapt GPUModelRunner._get_spec_decode_draft_probs, which answers for the rows that are verified now."""

    def _get_spec_decode_draft_probs(self: Any, spec_decode_metadata: Any) -> Tensor | None:
        state, drafts = runtime.current(), spec_decode_metadata.draft_token_ids
        ours = isinstance(self.drafter, Proposer)
        if ours:
            draft_probs, point_mass = state.q_channel.receive(
                self.input_batch.req_ids, spec_decode_metadata.num_draft_tokens, drafts, self.input_batch.vocab_size
            )
        else:
            draft_probs, point_mass = original(self, spec_decode_metadata), None
            if draft_probs is not None:
                point_mass = _rows_under_grammar(self, spec_decode_metadata)
        fault = None
        if draft_probs is not None:
            fault = broken_law(draft_probs, drafts, point_mass, state.counters.verify_steps)
        if fault:
            state.fallback.trip(Reason.RULE_CHECK, fault)
        if fault or not state.fallback.drafting:
            draft_probs = point_mass = None  # no q of a drafter that is in doubt; as point masses its drafts are exact
        elif point_mass is not None and not ours:
            state.counters.rows_with_draft_probs += int((~point_mass).sum())
        state.verifier.expect_round(point_mass, state.seeded)
        return draft_probs

    return _get_spec_decode_draft_probs


def broken_law(draft_probs: Tensor, drafts: Tensor, point_mass: Tensor | None, round_number: int) -> str | None:
    """What shows that a q is not the law that its drafts were drawn from; None if nothing does.

    Every draft must have been possible. That its row sums to 1 is looked at in one row of each round, another each
    time: a sum over all would cost as much as the rule.

    Args:
        draft_probs: float [num_tokens, vocab].
        drafts: int [num_tokens].
        point_mass: bool [num_tokens], rows whose q is unread; None: no row.

    """
    rows = torch.arange(len(drafts), device=drafts.device) if point_mass is None else (~point_mass).nonzero().squeeze(1)
    rows = rows[(drafts[rows] >= 0) & (drafts[rows] < draft_probs.shape[-1])]
    if not len(rows):
        return None
    if not bool((draft_probs[rows, drafts[rows].long()] > 0).all()):
        return "a draft has probability 0 under the law that it is said to be drawn from"
    row = rows[round_number % len(rows)]
    total = float(draft_probs[row].sum())
    if not abs(total - 1) < LAW_TOLERANCE:
        return f"a row of draft probabilities sums to {total:.6g}"
    return None


def _rows_under_grammar(runner: Any, spec_decode_metadata: Any) -> Tensor:
    """Rows that must count as point masses, bool [num_tokens]: see Proposer, for vLLM's own drafters."""
    counts = spec_decode_metadata.num_draft_tokens
    requests = [has_grammar(runner, request_id) for request_id in runner.input_batch.req_ids[: len(counts)]]
    rows = [grammar for grammar, count in zip(requests, counts, strict=True) for _ in range(count)]
    return torch.tensor(rows, dtype=torch.bool, device=spec_decode_metadata.draft_token_ids.device)
