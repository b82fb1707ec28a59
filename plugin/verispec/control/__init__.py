"""HOW MUCH TO DRAFT, and whether to draft at all. Pure; knows nothing of vLLM."""

from verispec.control.acceptance import AcceptanceWatch
from verispec.control.calibration import Calibration, Costs
from verispec.control.controller import Controller
from verispec.control.fallback import Fallback, Reason
from verispec.control.step_costs import Batch, Step

__all__ = ["AcceptanceWatch", "Batch", "Calibration", "Controller", "Costs", "Fallback", "Reason", "Step"]
