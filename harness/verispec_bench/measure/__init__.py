"""What is computed from raw records, and what is watched while a run goes on."""

from verispec_bench.measure.cpu import CpuWatch
from verispec_bench.measure.run import measure_run
from verispec_bench.measure.server_metrics import ServerSample, ServerWatch

__all__ = ["CpuWatch", "ServerSample", "ServerWatch", "measure_run"]
