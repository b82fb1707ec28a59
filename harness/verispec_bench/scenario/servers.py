"""The servers of a scenario: what all have in common, and the arms that speculate."""

from itertools import product
from typing import Annotated, Any

from pydantic import AfterValidator, Field, field_validator, model_validator

from verispec.settings import CONFIG_KEY, Settings
from verispec_bench.scenario.strict import Distinct, Strict

BASELINE = "target-only"
"""The arm without speculation, matched to the others in every feature; every scenario has it."""
DEFAULT_BASELINE = "deployment-default"
"""The target-only server as vLLM starts it by default: on GPUs with another runner and asynchronous scheduling."""
CONTROL = "control"
"""A second server like the baseline: what it gains over it is the harness's own error."""
TARGET_ONLY = (BASELINE, DEFAULT_BASELINE, CONTROL)
"""Arms that the harness makes; no other may have their names."""

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


Flags = Annotated[dict[str, FlagValue], AfterValidator(_not_owned)]


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
    env: dict[Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")], str] = Field(default_factory=dict)
    start_timeout_s: float = Field(default=900, gt=0)


class ServerAxes(Strict):
    """Server settings to sweep over: the servers are started anew for each combination.

    Attributes:
        max_num_seqs, dtype: the values.

    """

    max_num_seqs: Annotated[list[Annotated[int, Field(ge=1)]], Distinct] = Field(default=[])
    dtype: Annotated[list[str], Distinct] = Field(default=[])

    def variants(self, server: Server) -> list[Server]:
        """The server with each combination of values."""
        return [
            server.model_copy(update={"max_num_seqs": max_num_seqs, "dtype": dtype})
            for dtype, max_num_seqs in product(self.dtype or [server.dtype], self.max_num_seqs or [server.max_num_seqs])
        ]


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
        if not isinstance(window, int) or isinstance(window, bool) or window < 1:
            raise ValueError("num_speculative_tokens must be a whole number, at least 1")
        if not isinstance(value.get("model", ""), str):
            raise ValueError("model must be a name or a directory")
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
