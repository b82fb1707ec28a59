"""What a scenario file may hold. Unknown keys are refused."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from verispec.settings import CONFIG_KEY, Settings

BASELINE = "target-only"
"""The name of the arm without speculation; every scenario has it, and no other arm may be called so."""

VERIFIED = {"exactness", "parity"}
"""The sections that `verispec verify` reads."""

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
FlagValue = bool | int | float | str | dict[str, Any] | list[Any]


OWNED_FLAGS = {
    "model", "served-model-name", "host", "port", "dtype", "max-model-len", "max-num-seqs", "speculative-config",
    "additional-config", "per-request-spec-decode-metrics",
}  # fmt: skip
"""vLLM flags that have a key of their own in a scenario, or that the harness sets."""


def _not_owned(args: dict[str, FlagValue]) -> dict[str, FlagValue]:
    owned = sorted({flag.replace("_", "-") for flag in args} & OWNED_FLAGS)
    if owned:
        raise ValueError(f"{', '.join(owned)}: set by the harness, or by a key of its own")
    return args


def _distinct(values: list[Any]) -> list[Any]:
    repeated = [value for i, value in enumerate(values) if value in values[:i]]
    if repeated:
        raise ValueError(f"{repeated[0]} is given twice")
    return values


Flags = Annotated[dict[str, FlagValue], AfterValidator(_not_owned)]
Distinct = AfterValidator(_distinct)


class Strict(BaseModel):
    """Refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Server(Strict):
    """What all arms have in common; `args` and `env` reach vLLM's API server as they are.

    Attributes:
        python: interpreter that has vLLM and the plugin; default: the harness's own.
        dtype, max_model_len, max_num_seqs: the vLLM flags of these names.
        args: further vLLM flags, {"enable-chunked-prefill": true}.
        env: further environment variables.
        start_timeout_s: how long a start may take.

    """

    python: str | None = None
    dtype: str = "auto"
    max_model_len: int = Field(default=2048, ge=16)
    max_num_seqs: int = Field(default=16, ge=1)
    args: Flags = Field(default_factory=dict)
    env: dict[str, str] = Field(default_factory=dict)
    start_timeout_s: float = Field(default=900, gt=0)


class Arm(Strict):
    """A server that speculates.

    Attributes:
        speculative: vLLM's --speculative-config.
        verispec: the plugin's settings; None with vLLM's own drafters leaves the plugin's defaults.
        plugin: false starts the server with VERISPEC_DISABLE=1: vLLM's own verifier.

    """

    speculative: dict[str, Any]
    verispec: Settings | None = None
    plugin: bool = True

    @field_validator("speculative")
    @classmethod
    def _has_window(cls, value: dict[str, Any]) -> dict[str, Any]:
        window = value.get("num_speculative_tokens")
        if not isinstance(window, int) or window < 1:
            raise ValueError("num_speculative_tokens must be a whole number, at least 1")
        if "method" not in value and "model" not in value:
            raise ValueError("needs a method (ngram, suffix, eagle3, custom_class, …) or a draft model")
        return value

    @model_validator(mode="after")
    def _settings_need_the_plugin(self) -> "Arm":
        if self.verispec is not None and not self.plugin:
            raise ValueError(f"{CONFIG_KEY} settings and plugin: false exclude each other")
        return self

    @property
    def num_speculative_tokens(self) -> int:
        """The draft window."""
        return int(self.speculative["num_speculative_tokens"])


class WorkloadFile(Strict):
    """Prompts from a JSONL file in Spec-Bench ("turns"), ShareGPT ("conversations") or plain ("prompt") form."""

    name: Name
    file: str


Workload = Literal["code-edit", "chat"] | WorkloadFile


class Load(Strict):
    """How much is asked of the servers, at once and in all.

    Attributes:
        concurrency: requests in flight, one cell for each value.
        output_len: most tokens of an answer, one cell for each value.
        temperature: one cell for each value; 0 is greedy.
        top_p, top_k: sampling parameters of all cells.
        ignore_eos: go on after the end of the answer; flatters acceptance on small models.
        min_requests: requests in a block of prompts, at least…
        requests_per_stream: …and at least this many for each request in flight.
        blocks: blocks of prompts in each cell; every block is run by all arms, in opposite orders (A B B A).
        timeout_s: a request that takes longer has failed.

    """

    concurrency: Annotated[list[Annotated[int, Field(ge=1)]], Distinct] = Field(min_length=1)
    output_len: Annotated[list[Annotated[int, Field(ge=1)]], Distinct] = Field(default=[96], min_length=1)
    temperature: Annotated[list[Annotated[float, Field(ge=0)]], Distinct] = Field(default=[0.0], min_length=1)
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=-1, ge=-1)
    ignore_eos: bool = False
    min_requests: int = Field(default=6, ge=1)
    requests_per_stream: int = Field(default=2, ge=1)
    blocks: int = Field(default=2, ge=1)
    timeout_s: float = Field(default=600, gt=0)


class SamplingParameters(Strict):
    """A sampling transformation, relative to which the arms must be exact; greedy decoding has no law to test."""

    temperature: float = Field(default=1.0, gt=0)
    top_k: int = Field(default=-1, ge=-1)
    top_p: float = Field(default=1.0, gt=0, le=1)


class Exactness(Strict):
    """The sampled test of the law: many short completions of few prompts (verispec_bench.exactness.law).

    Attributes:
        prompts: texts that are continued as they are. The target should be uncertain how they go on, and the drafter
            should find something to draft.
        sampling: sampling transformations; each is tested on its own.
        completions: of each arm under each sampling; the baseline, which serves all arms, makes twice as many.
        tokens: tokens of a completion. The first comes from the prompt's own pass and is never drafted.
        max_tv: a test is closed if the upper 95% bound of the total variation distance is no larger.
        min_drafted: share of the tested tokens that must have come from steps that verified a draft.
        concurrency: completions in flight.
        timeout_s: a completion that takes longer has failed.

    """

    prompts: Annotated[list[Annotated[str, Field(min_length=1)]], Distinct] = Field(min_length=1)
    sampling: Annotated[list[SamplingParameters], Distinct] = Field(default=[SamplingParameters()], min_length=1)
    completions: int = Field(ge=100)
    tokens: int = Field(default=4, ge=2)
    max_tv: float = Field(default=0.02, gt=0, le=1)
    min_drafted: float = Field(default=0.5, gt=0, le=1)
    concurrency: int = Field(default=64, ge=1)
    timeout_s: float = Field(default=600, gt=0)


class Parity(Strict):
    """Greedy answers compared token by token (verispec_bench.exactness.parity).

    Attributes:
        prompts: how many of the corpus, its kinds in turn.
        tokens: most tokens of an answer.
        concurrency: requests in flight.
        envelope_prompts: how many of them are answered again with logprobs, to measure the numerical envelope.
        max_envelope: nats; the largest envelope that still counts as rounding.
        timeout_s: an answer that takes longer has failed.

    """

    prompts: int = Field(default=300, ge=1)
    tokens: int = Field(default=96, ge=2)
    concurrency: int = Field(default=16, ge=1)
    envelope_prompts: int = Field(default=64, ge=1)
    max_envelope: float = Field(default=0.01, gt=0)
    timeout_s: float = Field(default=600, gt=0)


class Setup(Strict):
    """What a scenario file may hold; what each verb needs of it is said by the classes below.

    Attributes:
        name: short name, used for the result directory.
        title: one line for people.
        model: a local directory, a hub id, or a name that `verispec fetch-model` knows.
        server: what all arms share.
        arms: the speculative servers by name; the baseline is added.
        seed: orders the prompts.
        workloads, load, warmup_requests, max_foreign_cpu, retries: see Scenario.
        exactness, parity: see Verification.

    """

    name: Name
    title: str = ""
    model: str
    server: Server = Field(default_factory=Server)
    arms: dict[Name, Arm] = Field(min_length=1)
    workloads: list[Workload] = Field(default=[])
    load: Load | None = None
    exactness: Exactness | None = None
    parity: Parity | None = None
    seed: int = 0
    warmup_requests: int = Field(default=4, ge=0)
    max_foreign_cpu: float = Field(default=0.05, gt=0, le=1)
    retries: int = Field(default=1, ge=0)

    @model_validator(mode="after")
    def _consistent(self) -> "Setup":
        if BASELINE in self.arms:
            raise ValueError(f"the arm {BASELINE!r} is made by the harness: give only speculative arms")
        _distinct([workload if isinstance(workload, str) else workload.name for workload in self.workloads])
        return self


class Scenario(Setup):
    """A sweep: speculative arms against the target-only baseline, over workloads and loads.

    Attributes:
        workloads: "code-edit", "chat", or a file.
        load: the load of each cell.
        warmup_requests: sent to each server before anything is measured.
        max_foreign_cpu: share of the machine that other processes may use during a run before it is measured again.
        retries: how often a contaminated block is measured again, with other prompts.

    """

    workloads: list[Workload] = Field(min_length=1)
    load: Load

    @model_validator(mode="before")
    @classmethod
    def _has_something_to_sweep(cls, data: Any) -> Any:
        if isinstance(data, dict) and data.keys() & VERIFIED and not data.keys() & {"workloads", "load"}:
            raise ValueError("has no workloads and no load, so there is nothing to sweep; it is for: verispec verify")
        return data


class Verification(Setup):
    """A test of exactness: each arm against the target-only baseline, by its law, by its greedy answers, or by both.

    Attributes:
        exactness: the law of sampled tokens.
        parity: greedy answers.

    """

    @model_validator(mode="after")
    def _has_something_to_verify(self) -> "Verification":
        if not self.exactness and not self.parity:
            raise ValueError(
                "has no section exactness and no section parity, so there is nothing to verify; "
                "see scenarios/exactness.yaml"
            )
        return self
