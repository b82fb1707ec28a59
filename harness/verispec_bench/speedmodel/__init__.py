"""What speculation should bring: the first-order model, its break-even, and published traces replayed."""

from verispec_bench.speedmodel.break_even import break_even
from verispec_bench.speedmodel.expectation import expected_tokens, expected_tokens_of, independent_acceptance
from verispec_bench.speedmodel.round import Round, WholeRequest, memory_bound_speedup
from verispec_bench.speedmodel.worked import WORKED, Worked

__all__ = [
    "WORKED",
    "Round",
    "WholeRequest",
    "Worked",
    "break_even",
    "expected_tokens",
    "expected_tokens_of",
    "independent_acceptance",
    "memory_bound_speedup",
]
