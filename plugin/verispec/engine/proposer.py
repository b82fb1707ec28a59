"""vLLM's `custom_class` proposer: asks the drafter, checks its answer, sends q ahead to the verifier."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from verispec.control import Reason, make_controller
from verispec.drafting import Drafter, DrafterError, DraftRequest, Proposal, SparseLaw, make_drafter
from verispec.engine import runtime
from verispec.engine.q_channel import DraftLaw
from verispec.engine.request_choice import rows_without_drafts, tenant_of

if TYPE_CHECKING:
    from verispec.control.controller import Controller

LAW_TOLERANCE = 1e-3
"""How far the sum of a row of q may be from 1."""


class Proposer:
    """`--speculative-config '{"method": "custom_class", "model": "verispec.engine.Proposer", …}'`.

    Built by vLLM in the worker process (vllm.v1.spec_decode.custom_class_proposer). What a drafter answers is checked
    before vLLM sees it. One that fails to load, raises, or answers something unusable costs its drafts, never a step:
    the server falls back to target-only decoding.

    Args:
        vllm_config: vLLM's VllmConfig.

    Raises:
        RuntimeError: the plugin is not active in this process.
        ValueError: unusable settings.

    """

    def __init__(self, vllm_config: Any) -> None:
        self._runtime = runtime.current()
        self._drafter: Drafter | None = None
        self._in_doubt = False
        self._max_tokens: int = vllm_config.speculative_config.num_speculative_tokens
        self._max_model_len: int = vllm_config.model_config.max_model_len
        self._max_step_tokens: int = vllm_config.scheduler_config.max_num_batched_tokens
        self._vocab_size: int = vllm_config.model_config.get_vocab_size()
        self._known: set[str] = set()
        self._runner: Any = None
        self._load()
        self._controller: Controller = make_controller(
            self._runtime.settings.control, self._runtime.costs, self._max_step_tokens
        )
        self._runtime.controller = self._controller

    def _load(self) -> None:
        settings = self._runtime.settings
        try:
            self._drafter = make_drafter(settings.drafter, settings.drafter_options)
        except DrafterError as error:
            if self._runner is None:  # the server is starting: unusable settings are refused
                raise
            self._fault(Reason.LOAD_FAILED, error)
        except Exception as error:
            self._fault(Reason.LOAD_FAILED, error)

    def bind(self, runner: Any) -> None:
        """Give access to the model runner, which vLLM does not hand to custom proposers."""
        self._runner = runner

    def rest(self) -> None:
        """Drafting has stopped: keep nothing, for no request."""
        if self._known:
            self._in_doubt = True
            self._forget_ended()
            self._runtime.q_channel.forget(self._known)
            self._controller.forget(self._known)
            self._known.clear()

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
        if self._drafter is None:  # drafting was switched on again after a failed start
            self._load()
        ids = self._runner.input_batch.req_ids
        rows = [row for row, sampled in enumerate(sampled_token_ids) if sampled]
        self._learn({ids[row]: sampled_token_ids[row] for row in rows})
        self._forget_ended()
        without = rows_without_drafts(self._runner, self._runtime.settings.draft_by_default)
        wanting = [row for row in rows if row not in without]
        asked = {row: self._request(row, int(num_tokens_no_spec[row]), token_ids_cpu) for row in wanting}
        requests = {row: request for row, request in asked.items() if request.max_tokens > 0}
        proposals = self._usable(list(requests.values()), self._ask(list(requests.values())))
        others = [ids[row] for row in rows if row not in requests]
        kv_tokens = int(num_tokens_no_spec[rows].sum())
        prompt_tokens = min(self._runtime.step_watch.unread_tokens, max(0, self._max_step_tokens - len(rows)))
        lengths = self._controller.choose(list(requests.values()), proposals, others, kv_tokens, prompt_tokens)
        for row, proposal, length in zip(requests, proposals, lengths, strict=True):
            drafts[row] = self._submit(requests[row], proposal, length)
        return drafts

    def _learn(self, committed: dict[str, list[int]]) -> None:
        """What this step committed, and how long it took."""
        for request_id in committed:
            self._known.add(request_id)
            self._runtime.q_channel.send(request_id, None)
        self._controller.step_ended(committed, self._runtime.step_watch.step)

    def _request(self, row: int, length: int, token_ids_cpu: NDArray[np.int32]) -> DraftRequest:
        batch = self._runner.input_batch
        request_id = batch.req_ids[row]
        sampling_params = self._runner.requests[request_id].sampling_params
        # Beside the drafts a step commits a token of the target's own.
        most = self._max_model_len
        if sampling_params.max_tokens is not None:
            most = min(most, int(batch.num_prompt_tokens[row]) + sampling_params.max_tokens)
        return DraftRequest(
            request_id=request_id,
            token_ids=token_ids_cpu[row, :length],
            max_tokens=min(self._max_tokens, most - length - 1),
            temperature=sampling_params.temperature,
            seed=sampling_params.seed,
            tenant=tenant_of(sampling_params),
        )

    def _ask(self, requests: list[DraftRequest]) -> Sequence[Proposal]:
        """The drafter's proposals, or none at all if it fails."""
        nothing = [Proposal()] * len(requests)
        if self._drafter is None:
            return nothing
        try:
            proposals = self._drafter.propose(requests)
        except Exception as error:
            self._fault(reason_of(error), error)
            return nothing
        try:
            if len(proposals) != len(requests):
                raise UnusableProposal(f"{len(proposals)} proposals for {len(requests)} requests")
        except Exception as error:
            self._fault(Reason.INVALID_OUTPUT, error)
            return nothing
        return proposals

    def _fault(self, reason: Reason, error: Exception) -> None:
        """Fall back; a drafter in doubt starts again from nothing when its turn comes."""
        self._in_doubt = True
        self._runtime.fallback.trip(reason, f"{type(error).__name__}: {error}")

    def _usable(self, requests: list[DraftRequest], proposals: Sequence[Proposal]) -> list[Proposal]:
        """The proposals, cut to the room there is; nothing in the place of those that cannot be verified."""
        usable = []
        for request, proposal in zip(requests, proposals, strict=True):
            try:
                usable.append(self._checked(request, proposal))
            except Exception as error:
                usable.append(Proposal())
                self._fault(Reason.INVALID_OUTPUT, error)
        return usable

    def _checked(self, request: DraftRequest, proposal: Proposal) -> Proposal:
        """A proposal, cut to the room there is.

        Raises:
            UnusableProposal: an id outside the vocabulary, a law that is none, or estimates that are none.

        """
        proposed = [int(token) for token in proposal.token_ids]
        if proposed and not 0 <= min(proposed) <= max(proposed) < self._vocab_size:
            outside = next(token for token in proposed if not 0 <= token < self._vocab_size)
            raise UnusableProposal(f"token {outside} is outside the vocabulary [0, {self._vocab_size})")
        if proposal.probs is not None:
            self._check_law(proposal.probs, proposed)
        if proposal.acceptance is not None:
            check_chances(proposal.acceptance, len(proposed))
        if len(proposed) > request.max_tokens:
            self._runtime.counters.proposals_cut += 1
        return Proposal(proposed[: request.max_tokens], proposal.probs, proposal.acceptance, proposal.source)

    def _submit(self, request: DraftRequest, proposal: Proposal, length: int) -> list[int]:
        """The drafts that are to be verified; their law is sent ahead."""
        token_ids = list(proposal.token_ids[:length])
        # The scheduler drops drafts by their content where there is a grammar: only the point-mass rule is exact then.
        if token_ids and proposal.probs is not None and not has_grammar(self._runner, request.request_id):
            law = proposal.probs
            law = law if isinstance(law, SparseLaw) else law[:length].to(torch.float32)
            self._runtime.q_channel.send(request.request_id, DraftLaw(token_ids, law))
        return token_ids

    def _check_law(self, probs: torch.Tensor | SparseLaw, token_ids: list[int]) -> None:
        """Rows of probabilities, one for each drafted token: an unnormalised q would bias the rule in silence."""
        drawn = torch.tensor(token_ids, dtype=torch.long).unsqueeze(1)
        if isinstance(probs, SparseLaw):
            choices, rows = probs.choices, probs.probs
            one_each = rows.shape == choices.shape and len(rows) == len(token_ids)
            if not one_each or (choices >= self._vocab_size).any() or rows[choices < 0].any():
                raise UnusableProposal("probs is no law over the vocabulary for each drafted token")
            chosen = torch.where(choices == drawn, rows, 0).sum(dim=1)
        else:
            rows = probs
            if rows.shape != (len(token_ids), self._vocab_size):
                raise UnusableProposal(
                    f"probs has shape {list(rows.shape)}, not [{len(token_ids)}, {self._vocab_size}]"
                )
            chosen = rows.gather(1, drawn.to(rows.device)).squeeze(1)
        if not bool((rows >= 0).all() and ((rows.sum(dim=-1) - 1).abs() < LAW_TOLERANCE).all()):
            raise UnusableProposal("a row of probs is no law: it has negative entries, or does not sum to 1")
        if not bool((chosen > 0).all()):
            raise UnusableProposal("a drafted token has probability 0 in probs: it was not drawn from it")

    def _forget_ended(self) -> None:
        ended = self._known - self._runner.requests.keys()
        forgotten = self._known if self._in_doubt else ended
        if forgotten and self._drafter is not None:
            self._in_doubt = False
            try:
                self._drafter.forget(set(forgotten))
            except Exception as error:
                self._fault(Reason.RAISED, error)
        self._runtime.q_channel.forget(ended)
        self._controller.forget(ended)
        self._known -= ended


def check_chances(acceptance: Sequence[float] | NDArray[np.float64], drafts: int) -> None:
    """Refuse estimates that are none.

    Raises:
        UnusableProposal: fewer than drafts, or outside [0, 1].

    """
    chances = np.asarray(acceptance, dtype=np.float64)
    if chances.ndim != 1 or len(chances) < drafts:
        raise UnusableProposal(
            f"acceptance has shape {list(chances.shape)}, not one chance for each of {drafts} drafts"
        )
    if len(chances) and not 0 <= chances.min() <= chances.max() <= 1:
        raise UnusableProposal("acceptance has a chance outside [0, 1]")


class UnusableProposal(ValueError):
    """A drafter's answer that cannot be verified."""


def reason_of(error: Exception) -> Reason:
    """Of an exception out of a drafter."""
    short = isinstance(error, MemoryError | torch.OutOfMemoryError)
    return Reason.MEMORY_PRESSURE if short else Reason.RAISED


def has_grammar(runner: Any, request_id: str) -> bool:
    """The scheduler drops drafts of this request by their content (structured output)."""
    return runner.requests[request_id].sampling_params.structured_outputs is not None
