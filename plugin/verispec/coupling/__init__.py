"""PROBABILITY: which drafted tokens are kept, and what replaces the first that is not.

Pure torch; imports neither vLLM nor the rest of verispec. `verify` applies the rules in RULES, which judge one path of
drafts per request; `verify_paths` is the multi-path rule, exact, with a signature of its own.
"""

from verispec.coupling.distance import overlap, residual, total_variation
from verispec.coupling.multipath import PathVerdict, verify_paths
from verispec.coupling.round import Draws, Round, Verdict
from verispec.coupling.rules import RULES, Rule, verify

__all__ = [
    "RULES",
    "Draws",
    "PathVerdict",
    "Round",
    "Rule",
    "Verdict",
    "overlap",
    "residual",
    "total_variation",
    "verify",
    "verify_paths",
]
