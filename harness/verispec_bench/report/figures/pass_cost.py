"""What a verifying pass costs by draft window and batch size, V / B over γ: by clocks, and as controllers know it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from verispec_bench.labels import cell_label
from verispec_bench.report.figures.style import MARKERS, subplots
from verispec_bench.scenario import BASELINE, TARGET_ONLY

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
MAX_WINDOW = 16
COLUMNS = 3
Lines = dict[str, tuple[Sequence[float], Sequence[float]]]
"""By name; γ and V / B."""


def draw_pass_cost(summary: dict[str, Any]) -> Figure | None:
    """A panel of what was measured, where the baseline counted its steps; one for each table of step costs."""
    most = max((cell.get("max_num_seqs") or 0 for cells in summary["arms"].values() for cell in cells), default=0)
    panels = {"measured: all arms against target-only": clocked_costs(summary)}
    for arm, costs in summary.get("step_costs", {}).items():
        panels[f"{arm}: its controller's table"] = pass_costs(costs, most)
    panels = {title: lines for title, lines in panels.items() if lines}
    if not panels:
        return None
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    size = (max(6.5, 4.2 * columns), 0.8 + 3.4 * rows)
    figure, grid = subplots(rows, columns, figsize=size, sharey=True, squeeze=False, layout="constrained")
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes, (title, lines) in zip(grid.flat, panels.items(), strict=False):
        for index, (name, line) in enumerate(lines.items()):
            axes.plot(*line, marker=MARKERS[index % len(MARKERS)], markersize=4, color=f"C{index}", label=name)
        axes.axhline(1.0, color="black", linewidth=1)
        axes.set_xlabel("γ: drafts of each request")
        axes.set_title(title, loc="left", fontsize=10)
        axes.legend(fontsize=8)
    for row in grid:
        row[0].set_ylabel("pass with drafts / without (V / B)")
    figure.suptitle("What a verifying pass costs: it pays where a round brings more tokens", x=0.02, ha="left")
    return figure


def clocked_costs(summary: dict[str, Any]) -> Lines:
    """V / B by workload and load, a point for each arm: means over the passes beside which no prompt was read.

    V is of the arm's clock and B of the baseline's; γ is what an arm drafted in a verifying step, for each running
    request. Empty where the baseline did not count its steps (`count_steps`).
    """
    every = [cell for cells in summary["arms"].values() for cell in cells]
    names = [f"{cell['workload']}, {cell_label(cell, every)}" for cell in every]
    without = {
        name: cell.get("decode_pass_ms") for name, cell in zip(names, every, strict=True) if cell["arm"] == BASELINE
    }
    points: dict[str, list[tuple[float, float]]] = {}
    for name, cell in zip(names, every, strict=True):
        known = all(cell.get(key) for key in ("verify_pass_ms", "verify_steps", "draft_tokens", "batch_size_mean"))
        if cell["arm"] not in TARGET_ONLY and known and without.get(name):
            window = cell["draft_tokens"] / (cell["verify_steps"] * cell["batch_size_mean"])
            points.setdefault(name, []).append((window, cell["verify_pass_ms"] / without[name]))
    return {
        name: ([x for x, _ in sorted(of_cell)], [y for _, y in sorted(of_cell)]) for name, of_cell in points.items()
    }


def pass_costs(costs: dict[str, Any], most: int) -> Lines:
    """V / B for γ = 0, 1, … by batch size.

    Args:
        costs: table of steps that only decode (verispec.control.Costs as JSON); nothing is drawn beyond it.
        most: requests that the server takes at once.

    """
    tokens, seconds = np.array(costs["tokens"]), np.array(costs["seconds"])
    found: Lines = {}
    for batch in (size for size in BATCHES if size <= most):
        sizes = batch * np.arange(1, MAX_WINDOW + 2)
        sizes = sizes[(sizes >= tokens[0]) & (sizes <= tokens[-1])]
        if batch >= tokens[0] and len(sizes) > 1:
            taken = np.interp(sizes, tokens, seconds) + batch * costs["request_s"]
            taken[1:] += costs["drafts_s"]
            found[f"batch {batch}"] = range(len(taken)), (taken / taken[0]).tolist()
    return found
