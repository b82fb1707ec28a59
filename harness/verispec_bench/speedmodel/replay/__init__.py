"""Recorded acceptance, replayed: what drafters and a choice between them bring, with each one's own bill."""

from verispec_bench.speedmodel.replay.bill import PUBLISHED, Bill, Cost
from verispec_bench.speedmodel.replay.study import ALL_BILLS, BY_MATCH, OWN_BILL, Result, gap_recovered, replay
from verispec_bench.speedmodel.replay.trace import Trace, read_traces

__all__ = [
    "ALL_BILLS",
    "BY_MATCH",
    "OWN_BILL",
    "PUBLISHED",
    "Bill",
    "Cost",
    "Result",
    "Trace",
    "gap_recovered",
    "read_traces",
    "replay",
]
