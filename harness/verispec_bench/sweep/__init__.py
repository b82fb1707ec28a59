"""The interleaved plan of a sweep, its execution, and what it comes to."""

from verispec_bench.sweep.plan import Plan, PlannedBlock, PlannedSearch, lay_out
from verispec_bench.sweep.summary import summarise

__all__ = ["Plan", "PlannedBlock", "PlannedSearch", "lay_out", "summarise"]
