"""A server of known timing, to test load generators with: the verb `mock-server`."""

from verispec_bench.mock.settings import Fault, MockSettings

__all__ = ["Fault", "MockSettings"]
