"""Intervals and paired comparison."""

from verispec_bench.stats.paired import Block, PairedComparison, Ratio, compare

__all__ = ["Block", "PairedComparison", "Ratio", "compare"]
