"""Is it still the same model? Evidence beside the speed."""

from verispec_bench.exactness.greedy import GreedyParity, greedy_parity

__all__ = ["GreedyParity", "greedy_parity"]
