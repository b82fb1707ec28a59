"""What verispec keeps in a worker process: one object, made when the seams are installed."""

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from verispec.engine.counters import Counters
from verispec.engine.q_channel import QChannel
from verispec.engine.seams import SEAMS
from verispec.engine.verifier import Verifier
from verispec.settings import DISABLE_VARIABLE, PROPOSER_PATH, Settings

if TYPE_CHECKING:
    from verispec.engine.seeded import SeededRequests


@dataclass
class Runtime:
    """Settings and state that the adapters of one process share.

    Attributes:
        seeded: the seeded requests of the step that is being sampled.

    """

    settings: Settings
    seeded: "SeededRequests | None" = None
    counters: Counters = field(default_factory=Counters)
    q_channel: QChannel = field(init=False)
    verifier: Verifier = field(init=False)

    def __post_init__(self) -> None:
        self.q_channel = QChannel(self.counters)
        self.verifier = Verifier(self.settings.rule, self.counters)

    def status(self) -> dict[str, Any]:
        """What `/verispec/status` reports of this process."""
        return {
            "pid": os.getpid(),
            "settings": self.settings.model_dump(),
            "seams": [seam.name for seam in SEAMS if seam.active],
            "counters": self.counters.as_dict(),
        }


_current: Runtime | None = None
_refusal: Exception | None = None


def start(settings: Settings) -> Runtime:
    """Make this process's runtime."""
    global _current
    _current = Runtime(settings)
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
