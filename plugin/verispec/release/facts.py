"""The facts that define what a server promises: whatever differs in them is another contract."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from verispec.release.digest import value_digest

POINT_MASS_METHODS = ("ngram", "ngram_gpu", "suffix")
"""vLLM's drafters that copy committed tokens: they have no law q, and no state of their own to be rolled back."""


class Frozen(BaseModel):
    """Read once, never changed; unknown keys are a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Model(Frozen):
    """A model by its content.

    Attributes:
        name: hub id, or the directory's last part.
        revision: the hub's commit, or what was asked for; None for a directory of one's own.
        weights_sha256: of the weight files' contents; None where they cannot be read as files (dummy weights).
        config_sha256: of the configuration as the engine uses it, overrides applied.
        vocab_size: rows of logits.
        vocabulary_sha256: of its own tokenizer's {token: id}; None where there is none, or it cannot be read.

    """

    name: str
    revision: str | None
    weights_sha256: str | None
    config_sha256: str
    vocab_size: int
    vocabulary_sha256: str | None


class Target(Model):
    """The model that is served.

    Attributes:
        max_model_len: context, in tokens.
        lora: requests may name adapters, which are other targets.

    """

    max_model_len: int
    lora: bool


class Tokenizer(Frozen):
    """The target's tokenizer.

    Attributes:
        sha256: of all its files, chat template included; None where they cannot be read.
        vocab_size: tokens that it knows.

    """

    name: str
    revision: str | None
    sha256: str | None
    vocab_size: int | None


class SamplingDefaults(Frozen):
    """What a request gets that does not say otherwise.

    Attributes:
        source: "auto" (the model's generation_config.json), "vllm", or the directory it is read from.
        parameters: those that differ from vLLM's neutral values, as vLLM applies them.
        eos_token_id: what ends an answer, beside the tokenizer's own.

    """

    source: str
    parameters: dict[str, Any]
    eos_token_id: int | list[int] | None


class LogitsProcessors(Frozen):
    """What changes logits before a token is drawn.

    Attributes:
        loaded: import paths of the classes, in the engine's order.
        custom: those that are not vLLM's own.
        all_accepted: requests may use any of them beside speculation (else vLLM refuses min_p and logit_bias).

    """

    loaded: tuple[str, ...]
    custom: tuple[str, ...]
    all_accepted: bool


class Drafter(Frozen):
    """Who proposes.

    Attributes:
        method: vLLM's name of the method; "verispec" for a drafter of verispec's proposer.
        name: of the drafter, or None where the method says it all.
        options: its settings; paths are cut to their last part, secrets left out.
        num_speculative_tokens: most tokens of a draft.
        model: the draft model, None for drafters without one.

    """

    method: str
    name: str | None
    options: dict[str, Any]
    num_speculative_tokens: int
    model: Model | None


class Verifier(Frozen):
    """Who decides.

    Attributes:
        rule: a name in verispec.coupling.RULES.
        rule_is_exact: what that table says of it.
        function: import path of what is called to verify drafts, in this process.
        sample_method: vLLM's rejection_sample_method.
        sources_sha256: of the code that decides: verispec's coupling and engine.

    """

    rule: str
    rule_is_exact: bool
    function: str
    sample_method: str
    sources_sha256: str


class Numerics(Frozen):
    """How logits are computed: what differs here differs in float order at least, in the law at most."""

    dtype: str
    quantization: str | None
    kv_cache_dtype: str
    compilation: str | None
    cuda_graphs: str | None
    attention_backends: tuple[str, ...]
    device: str
    tensor_parallel_size: int
    pipeline_parallel_size: int


class Versions(Frozen):
    """Of the software that computes the law."""

    vllm: str
    torch: str
    transformers: str
    verispec: str


class DefinedBy(Frozen):
    """All of it.

    Attributes:
        tokenizer: None where token ids go in and out.
        drafter: None on a target-only server.
        seams: where vLLM is changed in the worker process: {name: what is replaced}.

    """

    target: Target
    tokenizer: Tokenizer | None
    sampling_defaults: SamplingDefaults
    logits_processors: LogitsProcessors
    drafter: Drafter | None
    verifier: Verifier
    seams: dict[str, str]
    numerics: Numerics
    versions: Versions

    def sha256(self) -> str:
        """Of their canonical JSON."""
        return value_digest(self.model_dump(mode="json"))
