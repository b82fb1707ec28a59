"""PROBABILITY: which drafted tokens are kept, and what replaces the first that is not.

Pure torch; imports neither vLLM nor the rest of verispec.
"""

from verispec.coupling.distance import overlap, residual, total_variation
from verispec.coupling.round import Draws, Round, Verdict
from verispec.coupling.rules import RULES, Rule, verify

__all__ = ["RULES", "Draws", "Round", "Rule", "Verdict", "overlap", "residual", "total_variation", "verify"]
