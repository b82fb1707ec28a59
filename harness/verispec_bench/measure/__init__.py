"""What is watched while a run goes on, and the metrics that are computed from it: each declared once."""

from verispec_bench.measure.clock import MAX_JUMP_S
from verispec_bench.measure.metric import Distribution, Metric
from verispec_bench.measure.registry import METRICS, STRUCTURED, measure
from verispec_bench.measure.resource_watch import ResourceWatch
from verispec_bench.measure.run import RunData
from verispec_bench.measure.server_watch import ServerWatch, closed_plateau, middle_of
from verispec_bench.measure.slo import Slo
from verispec_bench.measure.window import ResourceWindow, ServerSample, ServerWindow

__all__ = [
    "MAX_JUMP_S",
    "METRICS",
    "STRUCTURED",
    "Distribution",
    "Metric",
    "ResourceWatch",
    "ResourceWindow",
    "RunData",
    "ServerSample",
    "ServerWatch",
    "ServerWindow",
    "Slo",
    "closed_plateau",
    "measure",
    "middle_of",
]
