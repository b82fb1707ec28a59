"""vLLM's `custom_class` proposer: asks the drafter, checks its answer, sends q ahead to the verifier."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from verispec.drafting import DraftRequest, Proposal, make_drafter
from verispec.engine import runtime
from verispec.engine.q_channel import DraftLaw

logger = logging.getLogger("vllm.verispec")
LAW_TOLERANCE = 1e-3
"""How far the sum of a row of q may be from 1."""


class Proposer:
    """`--speculative-config '{"method": "custom_class", "model": "verispec.engine.Proposer", …}'`.

    Built by vLLM in the worker process (vllm.v1.spec_decode.custom_class_proposer). Whatever the drafter does, its
    drafts are trimmed to what the engine can take, and an exception means no drafts in that step, never a failed step.

    Args:
        vllm_config: vLLM's VllmConfig.

    Raises:
        RuntimeError: the plugin is not active in this process.
        ValueError: unusable settings.

    """

    def __init__(self, vllm_config: Any) -> None:
        self._runtime = runtime.current()
        settings = self._runtime.settings
        self._drafter = make_drafter(settings.drafter, settings.drafter_options)
        self._max_tokens: int = vllm_config.speculative_config.num_speculative_tokens
        self._max_model_len: int = vllm_config.model_config.max_model_len
        self._vocab_size: int = vllm_config.model_config.get_vocab_size()
        self._known: set[str] = set()
        self._runner: Any = None

    def bind(self, runner: Any) -> None:
        """Give access to the model runner, which vLLM does not hand to custom proposers."""
        self._runner = runner

    def load_model(self, *args: Any, **kwargs: Any) -> None:
        """Nothing to load; the CPU model runner calls it unguarded."""

    def propose(
        self,
        sampled_token_ids: list[list[int]],
        num_tokens_no_spec: NDArray[np.int32],
        token_ids_cpu: NDArray[np.int32],
        slot_mappings: object = None,
    ) -> list[list[int]]:
        """Drafts for each batch row.

        Args:
            sampled_token_ids: what each row committed in this step; empty for a prompt that is not yet complete.
            num_tokens_no_spec: int [rows], committed tokens of each row.
            token_ids_cpu: int [rows, max_model_len], those tokens.
            slot_mappings: unused.

        Returns:
            One list for each row, at most num_speculative_tokens long.

        """
        drafts: list[list[int]] = [[] for _ in sampled_token_ids]
        rows = [row for row, sampled in enumerate(sampled_token_ids) if sampled]
        requests = {row: self._request(row, int(num_tokens_no_spec[row]), token_ids_cpu) for row in rows}
        requests = {row: request for row, request in requests.items() if request.max_tokens > 0}
        self._forget_ended()
        for row in rows:
            self._runtime.q_channel.send(self._runner.input_batch.req_ids[row], None)
        for row, proposal in zip(requests, self._ask(list(requests.values())), strict=True):
            try:
                drafts[row] = self._accept(requests[row], proposal)
            except Exception:
                self._drafter_failed()
        return drafts

    def _request(self, row: int, length: int, token_ids_cpu: NDArray[np.int32]) -> DraftRequest:
        request_id = self._runner.input_batch.req_ids[row]
        sampling_params = self._runner.requests[request_id].sampling_params
        self._known.add(request_id)
        return DraftRequest(
            request_id=request_id,
            token_ids=token_ids_cpu[row, :length],
            max_tokens=min(self._max_tokens, self._max_model_len - length - 1),
            temperature=sampling_params.temperature,
            seed=sampling_params.seed,
        )

    def _ask(self, requests: list[DraftRequest]) -> Sequence[Proposal]:
        """The drafter's proposals, or none at all if it fails."""
        try:
            proposals = self._drafter.propose(requests)
            if len(proposals) != len(requests):
                raise ValueError(f"{len(proposals)} proposals for {len(requests)} requests")
        except Exception:
            self._drafter_failed()
            return [Proposal()] * len(requests)
        return proposals

    def _drafter_failed(self) -> None:
        """Count the exception that is being handled; the first is logged."""
        if not self._runtime.counters.drafter_errors:
            logger.exception("verispec: the drafter failed; going on without its drafts (later failures are counted)")
        self._runtime.counters.drafter_errors += 1

    def _accept(self, request: DraftRequest, proposal: Proposal) -> list[int]:
        """Trim a proposal to what may be verified, and send its law ahead."""
        proposed = [int(token) for token in proposal.token_ids]
        valid = next((i for i, t in enumerate(proposed) if not 0 <= t < self._vocab_size), len(proposed))
        token_ids = proposed[: min(valid, request.max_tokens)]
        probs = proposal.probs
        lawful = probs is None or self._is_law(probs, len(proposed))
        if not lawful or len(token_ids) < len(proposed):
            self._runtime.counters.proposals_cut += 1
        # Where what is submitted depends on the drafted tokens themselves (an id outside the vocabulary here, the
        # grammar in the scheduler), only the point-mass rule is exact.
        if (
            probs is not None
            and lawful
            and valid == len(proposed)
            and not has_grammar(self._runner, request.request_id)
        ):
            law = DraftLaw(token_ids, probs[: len(token_ids)].to(torch.float32))
            self._runtime.q_channel.send(request.request_id, law)
        return token_ids

    def _is_law(self, probs: torch.Tensor, rows: int) -> bool:
        """Rows of probabilities, one for each drafted token: an unnormalised q would bias the rule in silence."""
        if probs.shape != (rows, self._vocab_size):
            return False
        return bool((probs >= 0).all() and ((probs.sum(dim=-1) - 1).abs() < LAW_TOLERANCE).all())

    def _forget_ended(self) -> None:
        ended = self._known - self._runner.requests.keys()
        if ended:
            self._known -= ended
            self._runtime.q_channel.forget(ended)
            try:
                self._drafter.forget(ended)
            except Exception:
                self._drafter_failed()


def has_grammar(runner: Any, request_id: str) -> bool:
    """The scheduler drops drafts of this request by their content (structured output)."""
    return runner.requests[request_id].sampling_params.structured_outputs is not None
