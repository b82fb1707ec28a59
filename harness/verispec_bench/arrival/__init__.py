"""When requests are due: absolute times from a law or from a trace, the same for every arm."""

from verispec_bench.arrival.rates import schedule
from verispec_bench.arrival.trace import TraceLine, read_trace

__all__ = ["TraceLine", "read_trace", "schedule"]
