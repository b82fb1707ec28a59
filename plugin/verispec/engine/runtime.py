"""What verispec keeps in a worker process: one object, made when the seams are installed."""

import logging
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verispec.control import AcceptanceWatch, Calibration, Costs, Fallback
from verispec.engine.counters import Counters
from verispec.engine.q_channel import QChannel
from verispec.engine.seams import SEAMS
from verispec.engine.step_watch import StepWatch
from verispec.engine.verifier import Verifier
from verispec.redaction import for_all_eyes
from verispec.settings import DISABLE_VARIABLE, PROPOSER_PATH, Settings

if TYPE_CHECKING:
    from verispec.control.controller import Controller
    from verispec.engine.seeded import SeededRequests

logger = logging.getLogger("vllm.verispec")


@dataclass
class Runtime:
    """Settings and state that the adapters of one process share.

    Attributes:
        speculative: false in a target-only server, which only draws seeded requests by their keys, or counts.
        can_skip_drafting: false under async scheduling, where vLLM schedules as many drafts before they are made.
        identity: what the costs of steps depend on.
        costs: of steps, as the settings' calibration tells them; None: they are learned.
        controller: of verispec's proposer, which makes it; vLLM's own drafters are not controlled.
        has_drafted: the drafter has answered once; a first answer may take longer, for it may compile.
        seeded: the seeded requests of the step that is being sampled.
        failed: requests of this step that cannot be sampled for.

    """

    settings: Settings
    speculative: bool = True
    can_skip_drafting: bool = True
    identity: dict[str, str] = field(default_factory=dict)
    has_drafted: bool = False
    seeded: "SeededRequests | None" = None
    counters: Counters = field(default_factory=Counters)
    failed: set[str] = field(default_factory=set)
    step_watch: StepWatch = field(default_factory=StepWatch)
    q_channel: QChannel = field(init=False)
    fallback: Fallback = field(init=False)
    costs: Costs | None = field(init=False)
    controller: "Controller | None" = field(init=False, default=None)
    verifier: Verifier = field(init=False)

    def __post_init__(self) -> None:
        limits = self.settings.fallback
        self.q_channel = QChannel(self.counters)
        self.fallback = Fallback(limits.cooldown_s)
        self.costs = self._calibrated()
        acceptance = AcceptanceWatch(limits.min_acceptance, limits.acceptance_window)
        self.verifier = Verifier(self.settings.rule, self.counters, self.fallback, acceptance)

    def _calibrated(self) -> Costs | None:
        """The costs that the settings name; None if there are none, or they were measured elsewhere.

        Raises:
            ValueError: there is no such file, or it is no calibration.

        """
        path = self.settings.control.calibration
        if path is None:
            return None
        try:
            calibration = Calibration.read(path)
        except ValueError as error:
            raise ValueError(f"--additional-config: verispec.control.calibration: {error}") from error
        if differs := calibration.differs(self.identity):
            logger.warning(
                "verispec: the calibration %s is ignored, it is of another engine: %s", path, "; ".join(differs)
            )
            return None
        return calibration.costs

    @property
    def can_fall_back(self) -> bool:
        """There is drafting here, and it can be stopped."""
        return self.speculative and self.can_skip_drafting

    def status(self) -> dict[str, Any]:
        """What `/verispec/status` reports of this process."""
        return {
            "pid": os.getpid(),
            "settings": self.settings.model_dump() | {"drafter_options": for_all_eyes(self.settings.drafter_options)},
            "seams": [seam.name for seam in SEAMS if seam.active],
            "counters": self.counters.as_dict(),
            "fallback": self.fallback.status() if self.can_fall_back else None,
            "control": {"identity": self.identity, **self.controller.status()} if self.controller else None,
        }


_current: Runtime | None = None
_refusal: Exception | None = None


def start(
    settings: Settings,
    speculative: bool = True,
    can_skip_drafting: bool = True,
    identity: dict[str, str] | None = None,
) -> Runtime:
    """Make this process's runtime."""
    global _current
    _current = Runtime(settings, speculative, can_skip_drafting, identity or {})
    return _current


def refuse(error: Exception) -> None:
    """Keep why verispec could not be made active here, for whoever asks for it."""
    global _refusal
    _refusal = error


def current() -> Runtime:
    """This process's runtime.

    Raises:
        RuntimeError: the plugin is not active here.

    """
    if _current is None and _refusal is not None:
        raise _refusal
    if _current is None:
        raise RuntimeError(
            f"{PROPOSER_PATH} needs the verispec plugin in the worker process, where it is not active: "
            f"VLLM_PLUGINS={os.environ.get('VLLM_PLUGINS', '')!r} must name verispec (or be unset) "
            f"and {DISABLE_VARIABLE} must not be set"
        )
    return _current


def status() -> dict[str, Any] | None:
    """The status of this process, None where verispec is not active."""
    return _current.status() if _current else None


def switch(on: bool) -> dict[str, Any] | None:
    """Stop drafting in this process, or start it again; the status after it, None where there is nothing to switch."""
    if _current is None or not _current.can_fall_back:
        return None
    _current.fallback.switch(on)
    return _current.status()
