"""The load client: server-sent events, one streaming request, the closed loop."""

from verispec_bench.client.load import closed_loop
from verispec_bench.client.record import RequestRecord
from verispec_bench.client.request import Sampling, Target

__all__ = ["RequestRecord", "Sampling", "Target", "closed_loop"]
