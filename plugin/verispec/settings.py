"""What `--additional-config '{"verispec": {…}}'` may hold."""

import os
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

CONFIG_KEY = "verispec"
PROPOSER_PATH = "verispec.engine.Proposer"
DISABLE_VARIABLE = "VERISPEC_DISABLE"


def disabled() -> bool:
    """The kill switch is on: vLLM stays untouched in this process."""
    return os.environ.get(DISABLE_VARIABLE, "") not in ("", "0")


class FallbackSettings(BaseModel):
    """When drafting stops, and for how long: the server then decodes as a target-only one.

    Attributes:
        cooldown_s: after a fault drafting is tried again so many seconds later.
        stall_s: longest that making the drafts of one step may take; the first time, when it may compile, is let pass.
        min_acceptance: least share of verified drafts that must be kept; 0 for any.
        acceptance_window: drafts over which that share is taken.
        at_preemption: stop when the scheduler preempts a request, because the KV cache has run short.

    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cooldown_s: float = Field(default=30.0, gt=0)
    stall_s: float = Field(default=1.0, gt=0)
    min_acceptance: float = Field(default=0.02, ge=0, le=1)
    acceptance_window: int = Field(default=2000, ge=1)
    at_preemption: bool = True


class ControlSettings(BaseModel):
    """How much of what the drafter proposes is submitted (for verispec's proposer; vLLM's own drafters submit all).

    Attributes:
        mode: "goodput": in each step as much as makes the requests' tokens per second largest (their geometric mean),
            by costs and acceptance that the running server measures; "fixed": all that is proposed.
        max_slowdown: by how much any request may fall behind what it would have had without drafts, as a share of its
            time; null: it does not matter whose time pays for the others'.
        tpot_target_ms: milliseconds per token that no request is to exceed, where that can be; goodput comes second.
        calibration: a file of `verispec calibrate`, so that the costs of steps are known from the start.

    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["goodput", "fixed"] = "goodput"
    max_slowdown: float | None = Field(default=0.1, ge=0, le=10)
    tpot_target_ms: float | None = Field(default=None, gt=0)
    calibration: str | None = None


class Settings(BaseModel):
    """The plugin's settings; unknown keys are refused.

    Attributes:
        drafter: a name ("suffix") or the import path of a drafter class.
        drafter_options: keyword arguments of that drafter.
        rule: the verification rule, for verispec's proposer and for vLLM's own drafters. Seeded requests draw by
            (seed, position) and are verified by "gumbel" unless their drafts come with a law q of their own.
        draft_by_default: false: only requests that ask for it are drafted for (`vllm_xargs: {"verispec": "on"}`).
        control: how much is drafted.
        fallback: when the server decodes without drafts.
        manifest: where the server writes its release manifest when it has started.
        evidence: a file that says what a test of the decoder's state found (verispec.release.Evidence).
        counters_only: time the steps of a server without speculation, and change nothing else of it.

    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    drafter: str = "suffix"
    drafter_options: dict[str, Any] = Field(default_factory=dict)
    rule: Literal["token", "block", "gumbel"] = "token"
    draft_by_default: bool = True
    control: ControlSettings = Field(default_factory=ControlSettings)
    fallback: FallbackSettings = Field(default_factory=FallbackSettings)
    manifest: str | None = None
    evidence: str | None = None
    counters_only: bool = False

    @classmethod
    def from_additional_config(cls, additional_config: object) -> "Settings":
        """Read vLLM's `VllmConfig.additional_config`.

        Raises:
            ValueError: one line that names the setting and what is wrong with it.

        """
        section = additional_config.get(CONFIG_KEY, {}) if isinstance(additional_config, Mapping) else {}
        try:
            return cls.model_validate(section)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join([CONFIG_KEY, *map(str, first["loc"])])
            raise ValueError(f"--additional-config: {where}: {first['msg']}") from error
