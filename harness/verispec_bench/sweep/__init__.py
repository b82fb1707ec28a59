"""The interleaved plan of a sweep, its execution, and what it comes to."""

from verispec_bench.sweep.plan import Plan, PlannedBlock, plan
from verispec_bench.sweep.summary import summarise

__all__ = ["Plan", "PlannedBlock", "plan", "summarise"]
