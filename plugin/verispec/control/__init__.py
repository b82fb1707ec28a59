"""HOW MUCH TO DRAFT, and whether to draft at all. Pure; knows nothing of vLLM."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from verispec.control.acceptance import AcceptanceWatch
from verispec.control.calibration import Calibration, Costs
from verispec.control.fallback import Fallback, Reason
from verispec.control.step import Batch, Step

if TYPE_CHECKING:
    from verispec.control.controller import Controller
    from verispec.settings import ControlSettings

__all__ = ["AcceptanceWatch", "Batch", "Calibration", "Costs", "Fallback", "Reason", "Step", "make_controller"]


def make_controller(
    settings: ControlSettings, calibration: Costs | None = None, most_step_tokens: float = inf
) -> Controller:
    """A controller, when the worker is up: it needs numba, which must not be imported before (verispec.compiled)."""
    from verispec.control.controller import Controller, rehearse

    rehearse(settings)
    return Controller(settings, calibration, most_step_tokens)
