"""HOW MUCH TO DRAFT, and whether to draft at all. Pure; knows nothing of vLLM."""

from verispec.control.acceptance import AcceptanceWatch
from verispec.control.fallback import Fallback, Reason

__all__ = ["AcceptanceWatch", "Fallback", "Reason"]
