"""The load client: server-sent events, requests on the wire, closed and open loops, client processes."""

from verispec_bench.client.load import LoadInterrupted, LoadRun, run_load
from verispec_bench.client.record import RequestRecord
from verispec_bench.client.request import Request, Sampling, Target
from verispec_bench.client.watch import ClientLoad

__all__ = [
    "ClientLoad",
    "LoadInterrupted",
    "LoadRun",
    "Request",
    "RequestRecord",
    "Sampling",
    "Target",
    "run_load",
]
