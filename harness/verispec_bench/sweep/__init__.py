"""The interleaved plan of a sweep, its execution, and what it comes to."""

from verispec_bench.sweep.plan import PlannedBlock, plan_blocks
from verispec_bench.sweep.summary import summarise

__all__ = ["PlannedBlock", "plan_blocks", "summarise"]
