"""Every place where vLLM is changed: what is replaced, why, and which upstream change would make it needless.

A seam is checked against the signature that its adapter was written for, and refused by name if it differs: a wrong
guess about an internal would be a silent bias, not a crash.
"""

import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SUPPORTED_VLLM = ((0, 32), (0, 33))


class SeamError(RuntimeError):
    """vLLM is not as this version of verispec expects it; speculation is refused rather than guessed at."""


@dataclass(frozen=True)
class Seam:
    """A function or method of vLLM that an adapter takes the place of.

    Attributes:
        name: how errors, `verispec doctor` and the status endpoint call it.
        module, attribute: where it lives; the attribute may be dotted (Class.method).
        parameters: the leading parameters that the adapter relies on, in order.
        why: what vLLM lacks.
        removed_when: the upstream change that makes the seam deletable.
        cpu_only: needed on vLLM's CPU platform only.

    """

    name: str
    module: str
    attribute: str
    parameters: tuple[str, ...]
    why: str
    removed_when: str
    cpu_only: bool = False

    def check(self) -> Callable[..., Any]:
        """The function as vLLM defines it.

        Raises:
            SeamError: it is missing, or its leading parameters are others.

        """
        owner, name = self._owner()
        current = getattr(owner, name, None)
        if current is None:
            raise SeamError(f"seam {self.name!r}: {self.module}.{self.attribute} does not exist in {_vllm()}")
        original: Callable[..., Any] = getattr(current, "verispec_original", current)
        found = tuple(inspect.signature(original).parameters)[: len(self.parameters)]
        if found != self.parameters:
            raise SeamError(
                f"seam {self.name!r}: {self.module}.{self.attribute} takes ({', '.join(found)}) in {_vllm()}, "
                f"expected ({', '.join(self.parameters)})"
            )
        return original

    def replace(self, adapter: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Put adapter(original) in the place of the original; doing it again replaces the adapter, not stacks it."""
        original = self.check()
        replacement = adapter(original)
        replacement.verispec_original = original  # type: ignore[attr-defined]
        owner, name = self._owner()
        setattr(owner, name, replacement)

    @property
    def active(self) -> bool:
        """An adapter is in place in this process; where the module is not loaded, there is none, and none is loaded."""
        if self.module not in sys.modules:
            return False
        owner, name = self._owner()
        return hasattr(getattr(owner, name, None), "verispec_original")

    def _owner(self) -> tuple[Any, str]:
        owner: Any = importlib.import_module(self.module)
        *path, name = self.attribute.split(".")
        for part in path:
            owner = getattr(owner, part, None)
        return owner, name


_RUNNER = "vllm.v1.worker.gpu_model_runner"
_REJECTION = "vllm.v1.sample.rejection_sampler"
_SCHEDULER = "vllm.v1.core.sched.scheduler"

RUNNER_INIT = Seam(
    "model-runner",
    _RUNNER,
    "GPUModelRunner.__init__",
    ("self", "vllm_config", "device"),
    why="the other seams are installed where a speculative model runner is built, and nowhere else",
    removed_when="vLLM calls plugins with the configuration before it builds the model runner",
)
RUNNER_V2_INIT = Seam(
    "model-runner-v2",
    "vllm.v1.worker.gpu.model_runner",
    "GPUModelRunner.__init__",
    ("self", "vllm_config", "device"),
    why="Model Runner V2 has no custom proposers, nor this verifier, nor keyed draws: settings that name verispec are "
    "refused",
    removed_when="Model Runner V2 offers custom proposers, a replaceable rejection sampler and keyed draws",
)
SCHEDULER_INIT = Seam(
    "scheduler",
    _SCHEDULER,
    "Scheduler.__init__",
    ("self", "vllm_config"),
    why="the scheduler's seams are installed where a speculative scheduler is built, often a process of its own",
    removed_when="vLLM calls plugins with the configuration before it builds the scheduler",
)
RULE = Seam(
    "rejection-rule",
    _REJECTION,
    "rejection_sample",
    (
        "draft_token_ids",
        "num_draft_tokens",
        "max_spec_len",
        "cu_num_draft_tokens",
        "draft_probs",
        "target_logits",
        "bonus_token_ids",
        "sampling_metadata",
    ),
    why="the verification rule is verispec's; vLLM has no hook for one",
    removed_when="speculative_config accepts a verifier class",
)
SAMPLING_PARAMETERS = Seam(
    "sampling-parameters",
    _REJECTION,
    "expand_batch_to_tokens",
    ("x", "cu_num_tokens", "num_tokens", "replace_from", "replace_to"),
    why="on CPUs the temperature, top-k and top-p of draft positions are uninitialised memory (vllm#55005)",
    removed_when="the CPU stand-in of expand_kernel writes its result back to the caller's buffer",
    cpu_only=True,
)
DRAFT_PROBS = Seam(
    "draft-probabilities",
    _RUNNER,
    "GPUModelRunner._get_spec_decode_draft_probs",
    ("self", "spec_decode_metadata"),
    why="a custom proposer has no way to hand its draft law q to the verifier",
    removed_when="vLLM asks custom proposers for take_last_draft_probs(), as it asks draft models",
)
FITS = Seam(
    "draft-room",
    _RUNNER,
    "GPUModelRunner._input_fits_in_drafter",
    ("self", "common_attn_metadata"),
    why="one request near max_model_len switches drafting off for all; list drafters trim each request's own",
    removed_when="vLLM trims drafts per request",
)
SAMPLING_STEP = Seam(
    "sampling-step",
    _RUNNER,
    "GPUModelRunner._sample",
    ("self", "logits", "spec_decode_metadata"),
    why="a step without drafts is an ordinary step, but vLLM sends it through the rejection sampler, on empty tensors: "
    "a request with top-k alone then ends a CPU server (max() of no elements); min_tokens does not count drafts at the "
    "position after them; and here the batch is known, which keyed draws of seeded requests need",
    removed_when="vLLM samples draft-free steps as a target-only server does, counts drafts for min_tokens, and draws "
    "seeded requests by (seed, position)",
)
OWN_DRAWS = Seam(
    "own-draws",
    "vllm.v1.sample.ops.topk_topp_sampler",
    "TopKTopPSampler.__init__",
    ("self", "logprobs_mode", "use_fp64_gumbel"),
    why="vLLM draws seeded requests from a generator, whose state depends on what was drafted and rejected",
    removed_when="vLLM draws seeded requests by (seed, position)",
)
BOOKKEEPING = Seam(
    "bookkeeping",
    _RUNNER,
    "GPUModelRunner._bookkeeping_sync",
    ("self", "scheduler_output", "sampler_output", "logits", "hidden_states", "num_scheduled_tokens"),
    why="a seeded request whose prompt is prefilled in chunks has its generator rewound, which CPUs do not support: "
    "the server ends; keyed draws need no generator. And here the scheduler can be told of logits that are not numbers",
    removed_when="vLLM draws seeded requests by (seed, position), and fails requests with NaN logits one by one",
)
LOGITS_PROCESSORS = Seam(
    "logits-processors",
    _RUNNER,
    "build_logitsprocs",
    ("vllm_config", "device", "is_pin_memory", "is_pooling_model", "custom_logitsprocs"),
    why="under speculation vLLM loads none but min_tokens: min_p, logit_bias and custom processors are refused",
    removed_when="vLLM accepts min_p, logit_bias and custom processors with speculation",
)
PROCESSORS_AT_DRAFTS = Seam(
    "processors-at-drafts",
    _REJECTION,
    "RejectionSampler.apply_logits_processors",
    ("self", "logits", "sampling_metadata", "metadata"),
    why="min_p and logit_bias are not applied at drafted positions",
    removed_when="vLLM applies min_p and logit_bias at drafted positions",
)
DRAFTS = Seam(
    "drafts",
    _RUNNER,
    "GPUModelRunner.propose_draft_token_ids",
    ("self", "scheduler_output", "sampled_token_ids"),
    why="here drafting is skipped, timed, and its failures caught, whoever drafts; and requests go without drafts that "
    "ask for it, or have a custom logits processor, which knows committed tokens only",
    removed_when="vLLM survives a failing proposer and lets requests go without drafts, and logits processors can be "
    "applied at drafted positions",
)
NO_ROOM = Seam(
    "no-room",
    _RUNNER,
    "GPUModelRunner._copy_draft_token_ids_to_cpu",
    ("self", "scheduler_output", "zeros_only"),
    why="near max_model_len vLLM submits zeros in the place of drafts, verifies them, and counts them as rejected",
    removed_when="vLLM submits no drafts where none were made",
)
FORWARD = Seam(
    "forward-pass",
    _RUNNER,
    "GPUModelRunner.execute_model",
    ("self", "scheduler_output"),
    why="the time of the target's pass is known nowhere else",
    removed_when="vLLM reports the time of steps with and without drafts",
)
AFTER_FORWARD = Seam(
    "after-forward-pass",
    _RUNNER,
    "GPUModelRunner.sample_tokens",
    ("self", "grammar_output"),
    why="the time of sampling, verifying, bookkeeping and drafting together is known nowhere else",
    removed_when="vLLM reports the time of steps with and without drafts",
)
STEP_OUTPUT = Seam(
    "step-output",
    _SCHEDULER,
    "Scheduler.update_from_output",
    ("self", "scheduler_output", "model_runner_output"),
    why="vLLM pads some steps with drafts of -1 and counts them as rejected; here they are told apart from drafts",
    removed_when="vLLM leaves padding out of its counts",
)
COMMIT = Seam(
    "commit",
    _SCHEDULER,
    "Scheduler._update_request_with_output",
    ("self", "request", "new_token_ids"),
    why="here accepted drafts are cut at stops and become committed tokens, which vLLM counts nowhere by position; and "
    "a request whose logits are not numbers is ended with an error, where vLLM goes on with an arbitrary token",
    removed_when="vLLM counts committed tokens by position, and fails requests with NaN logits one by one",
)
ROUND_STATS = Seam(
    "round-stats",
    _SCHEDULER,
    "Scheduler.make_spec_decoding_stats",
    ("self", "spec_decoding_stats", "num_draft_tokens", "num_accepted_tokens", "num_invalid_spec_tokens", "request_id"),
    why="a step that was only padded counts as a round in /metrics",
    removed_when="vLLM leaves padding out of its counts",
)
REQUEST_STATS = Seam(
    "request-stats",
    "vllm.v1.metrics.stats",
    "RequestSpecDecodeMetrics.observe",
    ("self", "num_draft_tokens", "num_accepted"),
    why="a step that was only padded counts as a round in a request's own metrics",
    removed_when="vLLM leaves padding out of its counts",
)
INPUT_PROCESSOR = Seam(
    "input-processor",
    "vllm.v1.engine.input_processor",
    "InputProcessor.__init__",
    ("self", "vllm_config"),
    why="min_p and logit_bias are refused with speculation before they reach the worker, which can serve them here; "
    "an unknown choice about drafting (vllm_xargs), and logprob_token_ids, which are lost in steps with drafts, can be "
    "refused here with an HTTP 400",
    removed_when="vLLM accepts min_p, logit_bias and logprob_token_ids with speculation, and plugins may validate "
    "requests",
)

TIMING_SEAMS = (FORWARD, AFTER_FORWARD)
"""What times steps; a target-only server with `counters_only` has these alone."""
KEYED_SEAMS = (SAMPLING_STEP, OWN_DRAWS, BOOKKEEPING)
"""What draws seeded requests by their keys; a target-only server that names verispec in its settings has these."""
SPECULATIVE_SEAMS = (
    RULE, SAMPLING_PARAMETERS, DRAFT_PROBS, FITS, NO_ROOM, LOGITS_PROCESSORS, PROCESSORS_AT_DRAFTS, DRAFTS,
    *TIMING_SEAMS, *KEYED_SEAMS
)  # fmt: skip
SCHEDULER_SEAMS = (STEP_OUTPUT, COMMIT, ROUND_STATS, REQUEST_STATS)
SEAMS = (RUNNER_INIT, SCHEDULER_INIT, INPUT_PROCESSOR, *SPECULATIVE_SEAMS, *SCHEDULER_SEAMS)


def check_version() -> None:
    """Refuse a vLLM that no seam was written for.

    Raises:
        SeamError: naming both versions.

    """
    import vllm

    release = vllm.__version_tuple__[:2]
    if release not in SUPPORTED_VLLM:
        supported = ", ".join(".".join(map(str, version)) for version in SUPPORTED_VLLM)
        raise SeamError(
            f"{_vllm()} is not supported, this one fits {supported}; "
            "VERISPEC_DISABLE=1, without verispec's --speculative-config, runs without it"
        )


def _vllm() -> str:
    import vllm

    return f"vLLM {vllm.__version__}"
