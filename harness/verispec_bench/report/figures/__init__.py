"""The figures of a sweep, drawn from summary.json alone: one file each."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from verispec_bench.report.figures.acceptance import draw_acceptance
from verispec_bench.report.figures.against_batch import draw_speedup, tpot_drawer
from verispec_bench.report.figures.envelope import draw_envelope
from verispec_bench.report.figures.frontier import draw_frontier
from verispec_bench.report.figures.pass_cost import draw_pass_cost
from verispec_bench.report.figures.position import draw_positions
from verispec_bench.report.figures.prediction import draw_prediction
from verispec_bench.report.figures.step_split import draw_step_split
from verispec_bench.report.figures.style import STYLE

__all__ = ["FIGURES", "SAYS", "draw_figures"]

FIGURES: dict[str, Callable[[dict[str, Any]], Figure | None]] = {
    "envelope": draw_envelope,
    "speedup_vs_batch": draw_speedup,
    "p50_tpot_vs_batch": tpot_drawer("p50"),
    "p95_tpot_vs_batch": tpot_drawer("p95"),
    "acceptance": draw_acceptance,
    "positions": draw_positions,
    "step_split": draw_step_split,
    "pass_cost": draw_pass_cost,
    "prediction": draw_prediction,
    "drafter_frontier": draw_frontier,
}

SAYS = {
    "envelope": "Map of where speculation wins, by workload and load",
    "speedup_vs_batch": "Speedup with intervals against batch size",
    "p50_tpot_vs_batch": "Ratio of p50 time per output token against batch size",
    "p95_tpot_vs_batch": "Ratio of p95 time per output token against batch size",
    "acceptance": "Distribution of accepted drafts per round",
    "positions": "Acceptance by position in the draft",
    "step_split": "Where the time of steps goes",
    "pass_cost": "What a verifying pass costs, by draft window and batch size",
    "prediction": "Speedup predicted against measured",
    "drafter_frontier": "Committed tokens per second and per GiB against the share of drafts kept",
}
"""What a figure shows, for those who do not see it."""


def draw_figures(summary: dict[str, Any], directory: Path) -> list[Path]:
    """Draw every figure that the summary has data for, as PNG and SVG; returns the PNG files."""
    directory.mkdir(parents=True, exist_ok=True)
    drawn = []
    with mpl.rc_context(STYLE):
        for name, draw in FIGURES.items():
            figure = draw(summary)
            if figure is not None:
                drawn.append(directory / f"{name}.png")
                figure.savefig(drawn[-1], bbox_inches="tight")
                figure.savefig(drawn[-1].with_suffix(".svg"), bbox_inches="tight")
    return drawn
