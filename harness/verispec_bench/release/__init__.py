"""Release manifests: asked of servers, read from files, described and compared. Written by the plugin, read here."""

from verispec_bench.release.compare import Difference, compare, defines_contract
from verispec_bench.release.describe import describe
from verispec_bench.release.source import ask_server, fetch, read_file

__all__ = ["Difference", "ask_server", "compare", "defines_contract", "describe", "fetch", "read_file"]
