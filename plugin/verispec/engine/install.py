"""Installs the seams in a process that builds a model runner, and refuses what they do not fit."""

import logging
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from verispec.engine import logits_processors, release, runtime, seams
from verispec.engine.logits_processors import min_tokens_after_drafts
from verispec.engine.proposer import Proposer, has_grammar
from verispec.engine.sampling_parameters import expand_batch_to_tokens
from verispec.engine.seams import SeamError
from verispec.engine.seeded import SeededRequests, draw_by_key, leave_generators_alone
from verispec.engine.status import add_worker_methods
from verispec.settings import CONFIG_KEY, PROPOSER_PATH, Settings

logger = logging.getLogger("vllm.verispec")


def watch_model_runner() -> None:
    """Act when a model runner is built; one without speculation that does not name verispec leaves vLLM untouched."""

    def adapt(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(self: Any, vllm_config: Any, *args: Any, **kwargs: Any) -> None:
            if vllm_config.speculative_config is not None or asked_for(vllm_config):
                install(vllm_config)
            original(self, vllm_config, *args, **kwargs)
            if isinstance(getattr(self, "drafter", None), Proposer):
                self.drafter.bind(self)

        return __init__

    _watch(seams.RUNNER_INIT, adapt)
    add_worker_methods()


def watch_model_runner_v2() -> None:
    """Refuse settings that only Model Runner V1 can honour; leave all other V2 servers alone."""

    def adapt(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(self: Any, vllm_config: Any, *args: Any, **kwargs: Any) -> None:
            if asked_for(vllm_config):
                raise SeamError(
                    f"seam {seams.RUNNER_V2_INIT.name!r}: {seams.RUNNER_V2_INIT.why}; "
                    "set VLLM_USE_V2_MODEL_RUNNER=0 and --no-async-scheduling on both servers"
                )
            if vllm_config.speculative_config is not None:
                logger.warning("verispec is not active: Model Runner V2 verifies with vLLM's own rule")
            original(self, vllm_config, *args, **kwargs)

        return __init__

    _watch(seams.RUNNER_V2_INIT, adapt)


def watch_input_processor() -> None:
    """Let min_p and logit_bias through to workers that serve them."""

    def adapt(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(self: Any, vllm_config: Any, *args: Any, **kwargs: Any) -> None:
            original(self, vllm_config, *args, **kwargs)
            served = logits_processors.can_serve_all(vllm_config.speculative_config)
            if served and asked_for(vllm_config) and not vllm_config.use_v2_model_runner:
                seams.check_version()
                self.speculative_config = None  # read for nothing but this refusal

        return __init__

    _watch(seams.INPUT_PROCESSOR, adapt)


def _watch(seam: seams.Seam, adapt: Callable[[Callable[..., None]], Callable[..., None]]) -> None:
    """Replace a constructor; where it has changed, only servers that need verispec must fail (when they ask for it)."""
    try:
        seam.replace(adapt)
    except SeamError as error:
        logger.warning("verispec is not active: %s", error)
        runtime.refuse(error)


def asked_for(vllm_config: Any) -> bool:
    """The server's settings name verispec, as proposer or in --additional-config."""
    ours = getattr(vllm_config.speculative_config, "model", None) == PROPOSER_PATH
    additional = vllm_config.additional_config
    return ours or (isinstance(additional, Mapping) and CONFIG_KEY in additional)


def install(vllm_config: Any) -> None:
    """Check everything, then put the adapters in place.

    Raises:
        SeamError: another vLLM, or a seam that has changed.
        ValueError: unusable settings, or a draft model with another vocabulary.

    """
    from vllm.platforms import current_platform

    seams.check_version()
    settings = Settings.from_additional_config(vllm_config.additional_config)
    needed = seams.KEYED_SEAMS if vllm_config.speculative_config is None else seams.SPECULATIVE_SEAMS
    wanted = [seam for seam in needed if current_platform.is_cpu() or not seam.cpu_only]
    for seam in wanted:
        seam.check()
    release.start(vllm_config, settings, named=asked_for(vllm_config))
    state = runtime.start(settings)
    adapters: dict[seams.Seam, Callable[..., Callable[..., Any]]] = {
        seams.RULE: state.verifier.adapt,
        seams.SAMPLING_PARAMETERS: lambda original: expand_batch_to_tokens,
        seams.DRAFT_PROBS: _line_up_draft_probs,
        seams.FITS: _trim_per_request,
        seams.LOGITS_PROCESSORS: logits_processors.load_all,
        seams.PROCESSORS_AT_DRAFTS: logits_processors.apply_at_drafts,
        seams.DRAFTS: _propose,
        seams.SAMPLING_STEP: _sample_step,
        seams.OWN_DRAWS: draw_by_key,
        seams.GENERATORS: leave_generators_alone,
    }
    for seam in wanted:
        seam.replace(adapters[seam])


def _line_up_draft_probs(original: Callable[..., Tensor | None]) -> Callable[..., Tensor | None]:
    def _get_spec_decode_draft_probs(self: Any, spec_decode_metadata: Any) -> Tensor | None:
        state = runtime.current()
        if not isinstance(self.drafter, Proposer):
            draft_probs = original(self, spec_decode_metadata)
            grammar = None if draft_probs is None else _rows_under_grammar(self, spec_decode_metadata)
            state.verifier.expect_round(grammar, state.seeded)
            return draft_probs
        draft_probs, point_mass = state.q_channel.receive(
            self.input_batch.req_ids, spec_decode_metadata.num_draft_tokens, spec_decode_metadata.draft_token_ids
        )
        state.verifier.expect_round(point_mass, state.seeded)
        return draft_probs

    return _get_spec_decode_draft_probs


def _rows_under_grammar(runner: Any, spec_decode_metadata: Any) -> Tensor:
    """Rows that must count as point masses, bool [num_tokens]: see Proposer, for vLLM's own drafters."""
    counts = spec_decode_metadata.num_draft_tokens
    requests = [has_grammar(runner, request_id) for request_id in runner.input_batch.req_ids[: len(counts)]]
    rows = [grammar for grammar, count in zip(requests, counts, strict=True) for _ in range(count)]
    return torch.tensor(rows, dtype=torch.bool, device=spec_decode_metadata.draft_token_ids.device)


def _trim_per_request(original: Callable[..., bool]) -> Callable[..., bool]:
    def _input_fits_in_drafter(self: Any, common_attn_metadata: Any) -> bool:
        if isinstance(self.drafter, Proposer):
            return common_attn_metadata is not None
        return original(self, common_attn_metadata)

    return _input_fits_in_drafter


def _propose(original: Callable[..., Any]) -> Callable[..., Any]:
    def propose_draft_token_ids(self: Any, *args: Any, **kwargs: Any) -> Any:
        started = perf_counter()
        drafts = original(self, *args, **kwargs)
        logits_processors.withdraw_drafts(drafts, self.input_batch.logitsprocs)
        runtime.current().counters.draft_seconds += perf_counter() - started
        return drafts

    return propose_draft_token_ids


def _sample_step(original: Callable[..., Any]) -> Callable[..., Any]:
    def _sample(self: Any, logits: Tensor | None, spec_decode_metadata: Any) -> Any:
        drafted = spec_decode_metadata is not None and spec_decode_metadata.max_spec_len > 0
        num_drafts = spec_decode_metadata.num_draft_tokens if drafted else [0] * self.input_batch.num_reqs
        state = runtime.current()
        state.seeded = SeededRequests.in_batch(self, num_drafts)
        try:
            with min_tokens_after_drafts(self.input_batch.logitsprocs, num_drafts):
                return original(self, logits, spec_decode_metadata if drafted else None)
        finally:
            state.seeded = None

    return _sample
