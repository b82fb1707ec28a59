"""Installs the seams in a process that builds a model runner, and refuses what they do not fit."""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from verispec.engine import commits, draft_step, logits_processors, release, runtime, seams, step_time
from verispec.engine.draft_probs import line_up_draft_probs
from verispec.engine.identity import identity
from verispec.engine.logits_processors import LIST_DRAFTERS
from verispec.engine.proposer import Proposer
from verispec.engine.request_choice import check_choice
from verispec.engine.sample_step import report_failed, sample_step
from verispec.engine.sampling_parameters import expand_batch_to_tokens
from verispec.engine.seams import SeamError
from verispec.engine.seeded import draw_by_key, leave_generators_alone
from verispec.engine.status import add_engine_method, add_worker_methods
from verispec.settings import CONFIG_KEY, PROPOSER_PATH, Settings

logger = logging.getLogger("vllm.verispec")


def watch_model_runner() -> None:
    """Act when a model runner is built; one without speculation that does not name verispec leaves vLLM untouched."""

    def adapt(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(self: Any, vllm_config: Any, *args: Any, **kwargs: Any) -> None:
            if may_install(vllm_config):
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


def watch_scheduler() -> None:
    """Stand at the scheduler's side of a speculative server, to count what is committed."""

    def adapt(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(self: Any, vllm_config: Any, *args: Any, **kwargs: Any) -> None:
            add_engine_method()
            if _verifies(vllm_config):
                install_scheduler()
            original(self, vllm_config, *args, **kwargs)

        return __init__

    _watch(seams.SCHEDULER_INIT, adapt)


def watch_input_processor() -> None:
    """Let min_p and logit_bias through to workers that serve them; refuse what a speculative server would get wrong."""

    def adapt(original: Callable[..., None]) -> Callable[..., None]:
        def __init__(self: Any, vllm_config: Any, *args: Any, **kwargs: Any) -> None:
            original(self, vllm_config, *args, **kwargs)
            if not _verifies(vllm_config):
                return
            self.validate_logits_processors_params = _and_ours(self.validate_logits_processors_params)
            if asked_for(vllm_config) and logits_processors.can_serve_all(vllm_config.speculative_config):
                seams.check_version()
                self.speculative_config = None  # read for nothing but this refusal

        return __init__

    _watch(seams.INPUT_PROCESSOR, adapt)


def _and_ours(validate: Callable[[Any], None]) -> Callable[[Any], None]:
    def validate_params(sampling_params: Any) -> None:
        validate(sampling_params)
        check_choice(sampling_params)
        if sampling_params.logprob_token_ids:
            raise ValueError("logprob_token_ids: lost in steps with drafts; ask for logprobs, or a target-only server")

    return validate_params


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


def may_install(vllm_config: Any) -> bool:
    """Whether this model runner is one for the seams.

    Raises:
        SeamError: the settings ask for verispec where it cannot be exact.

    """
    if vllm_config.speculative_config is None:
        return asked_for(vllm_config)
    if _verifies(vllm_config):
        return True
    why = "with several processes for one model each would draw, and fall back, by itself"
    if asked_for(vllm_config):
        raise SeamError(f"verispec verifies in one process: {why}; use one device, or take it out of the settings")
    logger.warning("verispec is not active: %s", why)
    return False


def _verifies(vllm_config: Any) -> bool:
    """Drafts are verified by verispec: on Model Runner V1, in one process.

    Replicas (data parallelism) are processes of their own, unless their drafters' passes wait for each other.
    """
    speculative, parallel = vllm_config.speculative_config, vllm_config.parallel_config
    if speculative is None or vllm_config.use_v2_model_runner or parallel.world_size > 1:
        return False
    return parallel.data_parallel_size == 1 or speculative.method in LIST_DRAFTERS


def install_scheduler() -> None:
    """Check the scheduler's seams, then put their adapters in place.

    Raises:
        SeamError: another vLLM, or a seam that has changed.

    """
    seams.check_version()
    for seam in seams.SCHEDULER_SEAMS:
        seam.check()
    watch = commits.start()
    seams.STEP_OUTPUT.replace(watch.step_output)
    seams.COMMIT.replace(watch.commit)
    seams.ROUND_STATS.replace(commits.count_round)
    seams.REQUEST_STATS.replace(commits.count_request_round)


def install(vllm_config: Any) -> None:
    """Check everything, then put the adapters in place.

    Raises:
        SeamError: another vLLM, or a seam that has changed.
        ValueError: unusable settings, or a draft model with another vocabulary.

    """
    from vllm.platforms import current_platform

    seams.check_version()
    settings = Settings.from_additional_config(vllm_config.additional_config)
    speculative = vllm_config.speculative_config is not None
    if settings.counters_only and (speculative or vllm_config.parallel_config.world_size > 1):
        raise ValueError(
            "--additional-config: verispec.counters_only: is for a server without --speculative-config, in one process"
        )
    target_only = seams.TIMING_SEAMS if settings.counters_only else seams.KEYED_SEAMS
    needed = seams.SPECULATIVE_SEAMS if speculative else target_only
    wanted = [seam for seam in needed if current_platform.is_cpu() or not seam.cpu_only]
    for seam in wanted:
        seam.check()
    release.start(vllm_config, settings, named=asked_for(vllm_config))
    can_skip_drafting = not vllm_config.scheduler_config.async_scheduling
    state = runtime.start(settings, speculative, can_skip_drafting, identity(vllm_config))
    adapters: dict[seams.Seam, Callable[..., Callable[..., Any]]] = {
        seams.RULE: state.verifier.adapt,
        seams.SAMPLING_PARAMETERS: lambda original: expand_batch_to_tokens,
        seams.DRAFT_PROBS: line_up_draft_probs,
        seams.FITS: draft_step.trim_per_request,
        seams.NO_ROOM: draft_step.submit_nothing,
        seams.LOGITS_PROCESSORS: logits_processors.load_all,
        seams.PROCESSORS_AT_DRAFTS: logits_processors.apply_at_drafts,
        seams.DRAFTS: draft_step.propose,
        seams.FORWARD: step_time.forward,
        seams.AFTER_FORWARD: step_time.after_forward,
        seams.SAMPLING_STEP: sample_step,
        seams.OWN_DRAWS: draw_by_key,
        seams.BOOKKEEPING: lambda original: report_failed(leave_generators_alone(original)),
    }
    for seam in wanted:
        seam.replace(adapters[seam])
