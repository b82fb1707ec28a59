"""The result directory: manifest, raw requests, runs, summary; atomic writes, resume."""

from verispec_bench.record.manifest import build_manifest, identity_differences
from verispec_bench.record.results import ResultDirectory, Run

__all__ = ["ResultDirectory", "Run", "build_manifest", "identity_differences"]
