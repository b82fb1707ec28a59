"""One load run against any OpenAI-compatible server: the verb `bench`. No vLLM, no torch."""

from verispec_bench.bench.load import BenchLoad
from verispec_bench.bench.run import Bench, BenchResult, run_bench

__all__ = ["Bench", "BenchLoad", "BenchResult", "run_bench"]
