"""Of the drafts at each position, given that those before were kept: how many were kept?"""

from itertools import cycle
from typing import Any, Literal

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from verispec_bench.labels import cell_label
from verispec_bench.report.figures.style import subplots

DASHES: tuple[Literal["-", "--", ":", "-."], ...] = ("-", "--", ":", "-.")
LEAST_ROUNDS = 20
"""Rounds that reached a position, below which its rate is not drawn."""


def draw_positions(summary: dict[str, Any]) -> Figure | None:
    """A panel for each workload; a color for each arm, a dash for each load."""
    cells = [c for arm in summary["arms"].values() for c in arm if c.get("conditional_acceptance_rates")]
    if not cells:
        return None
    workloads = list(dict.fromkeys(cell["workload"] for cell in cells))
    arms = {arm: f"C{index}" for index, arm in enumerate(dict.fromkeys(cell["arm"] for cell in cells))}
    loads = dict(zip(dict.fromkeys(cell_label(cell, cells) for cell in cells), cycle(DASHES), strict=False))
    figure, panels = subplots(1, len(workloads), figsize=(7.5, 3.7), sharey=True, squeeze=False)
    for axes, workload in zip(panels[0], workloads, strict=True):
        for cell in (cell for cell in cells if cell["workload"] == workload):
            rates = cell["conditional_acceptance_rates"][: _reached(cell)]
            axes.plot(
                range(1, len(rates) + 1), rates, color=arms[cell["arm"]], linestyle=loads[cell_label(cell, cells)]
            )
        axes.set_title(workload, loc="left")
        axes.set_xlabel("position in the draft")
        axes.set_ylim(0, 1.02)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    panels[0][0].set_ylabel("kept, if those before were")
    handles = [Line2D([], [], color=color, label=arm) for arm, color in arms.items()]
    handles += [Line2D([], [], color="black", linestyle=dash, label=load) for load, dash in loads.items()]
    figure.suptitle("Acceptance by position (conditional)", x=0.02, ha="left")
    figure.tight_layout(rect=(0, 0.09, 1, 1))
    figure.legend(handles=handles, loc="lower center", ncols=len(handles), fontsize=8)
    return figure


def _reached(cell: dict[str, Any]) -> int:
    """Positions before which at least LEAST_ROUNDS rounds had kept all drafts."""
    rounds = {int(kept): count for kept, count in (cell["accepted_per_round"] or {}).items()}
    return sum(
        sum(count for kept, count in rounds.items() if kept >= place) >= LEAST_ROUNDS
        for place in range(len(cell["conditional_acceptance_rates"]))
    )
