"""The end of a step, where drafts are made: skipped in fallback, timed, survived, and withdrawn where not wanted."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from torch import Tensor

from verispec.control import Reason
from verispec.engine import runtime
from verispec.engine.logits_processors import LIST_DRAFTERS
from verispec.engine.proposer import Proposer, reason_of
from verispec.engine.request_choice import rows_without_drafts


def propose(original: Callable[..., Any]) -> Callable[..., Any]:
    """Adapt GPUModelRunner.propose_draft_token_ids, which asks whichever drafter there is."""

    def propose_draft_token_ids(self: Any, scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        state = runtime.current()
        state.step_watch.step_ended(self, scheduler_output)
        if not state.can_skip_drafting:
            return original(self, scheduler_output, *args, **kwargs)
        if scheduler_output.preempted_req_ids and state.settings.fallback.at_preemption:
            preempted = len(scheduler_output.preempted_req_ids)
            state.fallback.trip(Reason.MEMORY_PRESSURE, f"the KV cache ran short, {preempted} requests were preempted")
        if not state.fallback.drafting:
            _rest(self)
            return _no_drafts(self)
        started = perf_counter()
        try:
            drafts = original(self, scheduler_output, *args, **kwargs)
        except Exception as error:
            state.fallback.trip(reason_of(error), f"{type(error).__name__}: {error}")
            return _no_drafts(self)
        finally:
            seconds = perf_counter() - started
            state.counters.draft_seconds += seconds
        if state.has_drafted and seconds > state.settings.fallback.stall_s:
            state.fallback.trip(Reason.STALLED, f"drafting took {seconds:.2f} s")
        drafts = _withdraw(self, _checked(self, drafts))
        proposed = sum(map(len, drafts)) if isinstance(drafts, list) else drafts.numel()
        state.has_drafted |= proposed > 0
        state.counters.proposed_tokens += proposed
        return drafts

    return propose_draft_token_ids


def _rest(runner: Any) -> None:
    """While nothing is drafted, nothing is kept for it: verispec's drafters start again from the histories."""
    if isinstance(runner.drafter, Proposer):
        runner.drafter.rest()


def _checked(runner: Any, drafts: list[list[int]] | Tensor) -> list[list[int]] | Tensor:
    """A foreign proposer's lists, one for each row and none too long; ids are looked at when they are verified."""
    if not isinstance(drafts, list) or isinstance(runner.drafter, Proposer):
        return drafts
    if len(drafts) != runner.input_batch.num_reqs:
        found = f"{len(drafts)} drafts for {runner.input_batch.num_reqs} requests"
        runtime.current().fallback.trip(Reason.INVALID_OUTPUT, found)
        return _no_drafts(runner)
    return [draft[: runner.num_spec_tokens] for draft in drafts]


def _no_drafts(runner: Any) -> list[list[int]]:
    return [[] for _ in range(runner.input_batch.num_reqs)]


def _withdraw(runner: Any, drafts: list[list[int]] | Tensor) -> list[list[int]] | Tensor:
    """Drafts by batch row, without those of requests that must or want to go without; the Proposer made none."""
    if isinstance(runner.drafter, Proposer):
        return drafts
    without = rows_without_drafts(runner, runtime.current().settings.draft_by_default)
    if not without:
        return drafts
    kept: list[list[int]] = drafts if isinstance(drafts, list) else drafts.tolist()
    return [[] if row in without else draft for row, draft in enumerate(kept)]


def trim_per_request(original: Callable[..., bool]) -> Callable[..., bool]:
    """Adapt GPUModelRunner._input_fits_in_drafter: list drafters look after each request's room themselves."""

    def _input_fits_in_drafter(self: Any, common_attn_metadata: Any) -> bool:
        if isinstance(self.drafter, Proposer) or self.speculative_config.method in LIST_DRAFTERS:
            return common_attn_metadata is not None
        return original(self, common_attn_metadata)

    return _input_fits_in_drafter


def submit_nothing(original: Callable[..., None]) -> Callable[..., None]:
    """Adapt GPUModelRunner._copy_draft_token_ids_to_cpu: where there was no room to draft, there is no draft."""

    def _copy_draft_token_ids_to_cpu(self: Any, scheduler_output: Any, zeros_only: bool = False) -> None:
        if zeros_only and runtime.current().can_skip_drafting:
            self._draft_token_ids = _no_drafts(self)
        original(self, scheduler_output, zeros_only)

    return _copy_draft_token_ids_to_cpu
