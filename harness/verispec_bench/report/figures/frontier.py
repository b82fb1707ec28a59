"""What acceptance is worth: each drafter's committed tokens per second, and per GiB, over the share of drafts kept."""

from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from verispec_bench.labels import cell_label
from verispec_bench.report.figures.style import subplots
from verispec_bench.scenario import BASELINE

COLUMNS = 4
Cell = dict[str, Any]
MEASURES = {
    "committed_tokens_per_device_second": "committed tokens/s per device",
    "committed_tokens_per_gib": "committed tokens/s per GiB",
}


@dataclass
class Panel:
    """What was measured under one workload, load and setting: of the baseline, and of each arm that drafted."""

    baseline: Cell | None = None
    drafted: list[Cell] = field(default_factory=list)


def draw_frontier(summary: dict[str, Any]) -> Figure | None:
    """For each measure a panel for each workload and load; None where no two drafters met."""
    panels = _panels(summary)
    if not panels:
        return None
    arms = dict.fromkeys(cell["arm"] for panel in panels.values() for cell in panel.drafted)
    color = {arm: f"C{index}" for index, arm in enumerate(arms)}
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    size = (max(7.5, 3.2 * columns), 3.1 * rows * len(MEASURES))
    figure, grid = subplots(rows * len(MEASURES), columns, figsize=size, sharex=True, squeeze=False,
                            layout="constrained")  # fmt: skip
    for block, (measure, label) in enumerate(MEASURES.items()):
        part = grid[block * rows : (block + 1) * rows]
        for axes in part.flat[len(panels) :]:
            axes.set_axis_off()
        drawn = part.flat[: len(panels)]
        for axes, (name, panel) in zip(drawn, panels.items(), strict=True):
            _draw_panel(axes, measure, panel, color)
            axes.set_title(name, loc="left", fontsize=10)
        highest = max(axes.dataLim.y1 for axes in drawn)
        for axes in drawn:
            axes.set_ylim(0, 1.1 * highest)
            axes.tick_params(labelbottom=True)
        for row in part:
            row[0].set_ylabel(label)
        for axes in drawn[-columns:]:
            axes.set_xlabel("drafts kept, %")
    figure.suptitle("Drafters: what is kept, and what it is worth", x=0.02, ha="left")
    dots = [Line2D([], [], marker="o", linestyle="", color=shade, label=arm) for arm, shade in color.items()]
    figure.legend(handles=dots, loc="outside lower center", ncols=len(dots), fontsize=9)
    return figure


def _panels(summary: dict[str, Any]) -> dict[str, Panel]:
    """By name; those in which at least two drafters met."""
    every = [cell for cells in summary["arms"].values() for cell in cells]
    panels: dict[str, Panel] = {}
    for arm, cells in summary["arms"].items():
        for cell in cells:
            name = f"{cell['workload']}, {cell_label(cell, every)}"
            panel = panels.setdefault(name, Panel())
            if arm == BASELINE:
                panel.baseline = cell
            elif cell.get("spec_decode_acceptance_rate") is not None:
                panel.drafted.append(cell)
    return {name: panel for name, panel in panels.items() if len(panel.drafted) > 1}


def _draw_panel(axes: Axes, measure: str, panel: Panel, color: dict[str, str]) -> None:
    axes.set_xlim(0, 102)
    if panel.baseline and panel.baseline[measure] is not None:
        axes.axhline(panel.baseline[measure], color="black", linewidth=1)
        axes.annotate(BASELINE, (1, panel.baseline[measure]), va="bottom", fontsize=8)
    for cell in panel.drafted:
        if cell[measure] is not None:
            at = (cell["spec_decode_acceptance_rate"], cell[measure])
            axes.plot(*at, "o", color=color[cell["arm"]], markersize=7, alpha=0.85)
