"""Lines of arms in cells: a panel for each workload, a color for each arm, a dash for each load and setting."""

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any, Literal

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from verispec_bench.labels import cell_label
from verispec_bench.report.figures.style import subplots

Cell = dict[str, Any]
DASHES: tuple[Literal["-", "--", ":", "-."], ...] = ("-", "--", ":", "-.")


def draw_lines(
    cells: Sequence[Cell], line: Callable[[Cell], tuple[Sequence[int], Sequence[float]]], title: str, x: str, y: str
) -> Figure:
    """A line for each cell, over whole numbers; shares from 0 to 1.

    Args:
        cells: of one arm or several.
        line: of a cell.
        title, x, y: what is drawn, and over what.

    """
    workloads = list(dict.fromkeys(cell["workload"] for cell in cells))
    arms = {arm: f"C{index}" for index, arm in enumerate(dict.fromkeys(cell["arm"] for cell in cells))}
    loads = dict(zip(dict.fromkeys(cell_label(cell, cells) for cell in cells), cycle(DASHES), strict=False))
    columns = min(2, len(workloads))
    rows = -(-len(workloads) // columns)
    figure, panels = subplots(rows, columns, figsize=(8.5, 1 + 2.9 * rows), sharey=True, squeeze=False,
                              layout="constrained")  # fmt: skip
    for axes in panels.flat[len(workloads) :]:
        axes.set_axis_off()
    for axes, workload in zip(panels.flat, workloads, strict=False):
        for cell in (cell for cell in cells if cell["workload"] == workload):
            axes.plot(*line(cell), color=arms[cell["arm"]], linestyle=loads[cell_label(cell, cells)])
        axes.set_title(workload, loc="left", fontsize=10)
        axes.set_ylim(0, 1.02)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel(x)
    for row in panels:
        row[0].set_ylabel(y)
    handles = [Line2D([], [], color=color, label=arm) for arm, color in arms.items()]
    handles += [Line2D([], [], color="black", linestyle=dash, label=load) for load, dash in loads.items()]
    figure.suptitle(title, x=0.02, ha="left")
    figure.legend(handles=handles, loc="outside lower center", ncols=min(5, len(handles)), fontsize=9)
    return figure
