"""Intervals and paired comparison."""

from verispec_bench.stats.interval import Ratio
from verispec_bench.stats.paired import Block, PairedComparison, compare

__all__ = ["Block", "PairedComparison", "Ratio", "compare"]
