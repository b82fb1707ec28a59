"""Everything that is drawn of a result directory, in one call."""

from pathlib import Path
from typing import Any

from verispec_bench.record import ResultDirectory
from verispec_bench.report.figures import draw_figures
from verispec_bench.report.page import write_page


def render(results: ResultDirectory, summary: dict[str, Any]) -> Path:
    """Draw the figures and report.html; returns the page."""
    figures = draw_figures(summary, results.path / "figures")
    return write_page(results.path, results.manifest(), summary, figures)
