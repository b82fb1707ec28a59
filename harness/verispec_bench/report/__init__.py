"""What people look at: the table, the figures, the HTML page."""

from verispec_bench.report.render import render
from verispec_bench.report.table import summary_table, verdict

__all__ = ["render", "summary_table", "verdict"]
