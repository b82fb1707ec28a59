"""What a step costs by its tokens, as `verispec calibrate` measured it."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.ticker import FuncFormatter

from verispec_bench.report.figures.style import STYLE, subplots


def draw_step_costs(costs: dict[str, Any], path: Path) -> None:
    """Draw a cost table (verispec.control.Costs, as JSON) into a file."""
    with mpl.rc_context(STYLE):
        figure, axes = subplots(figsize=(7.5, 4.6))
        milliseconds = [1000 * seconds for seconds in costs["seconds"]]
        axes.plot(costs["tokens"], milliseconds, marker="o", color="C0")
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda tokens, _: f"{tokens:g}"))
        axes.set_ylim(0, None)
        axes.set_xlabel("tokens in the step: one for each request, and the drafts")
        axes.set_ylabel("milliseconds")
        axes.set_title("What a step costs", loc="left")
        figure.savefig(path, bbox_inches="tight")
