"""What people look at: the table, the figures, the HTML page."""

from verispec_bench.report.decisions import keep_decision
from verispec_bench.report.findings import finding_lines
from verispec_bench.report.render import render
from verispec_bench.report.table import summary_table, verdict

__all__ = ["finding_lines", "keep_decision", "render", "summary_table", "verdict"]
