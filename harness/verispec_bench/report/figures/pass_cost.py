"""What a verifying pass costs by draft window and batch size: V of γ, as the arm's own controller measured it."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from verispec_bench.report.figures.style import subplots

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
MAX_WINDOW = 16


def draw_pass_cost(summary: dict[str, Any]) -> Figure | None:
    """For each arm that knows its steps' costs: V / B over γ, a line for each batch size within what was measured."""
    most = max((cell.get("max_num_seqs") or 0 for cells in summary["arms"].values() for cell in cells), default=0)
    drawn = ((name, pass_costs(costs, most)) for name, costs in summary.get("step_costs", {}).items())
    arms = {name: lines for name, lines in drawn if lines}
    if not arms:
        return None
    figure, panels = subplots(1, len(arms), figsize=(1.5 + 5 * len(arms), 4.2), sharey=True, squeeze=False)
    for axes, (name, lines) in zip(panels[0], arms.items(), strict=True):
        for index, (batch, line) in enumerate(lines.items()):
            axes.plot(range(len(line)), line, marker=".", color=f"C{index}", label=f"batch {batch}")
        axes.axhline(1.0, color="black", linewidth=1)
        axes.set_xlabel("γ: drafts of each request")
        axes.set_title(name, loc="left", fontsize=10)
        axes.legend(fontsize=8)
    panels[0][0].set_ylabel("pass with drafts / without (V / B)")
    figure.suptitle("What a verifying pass costs: it pays where a round brings more tokens", x=0.02, ha="left")
    return figure


def pass_costs(costs: dict[str, Any], most: int) -> dict[int, list[float]]:
    """V / B for γ = 0, 1, … by batch size.

    Args:
        costs: table of steps that only decode (verispec.control.Costs as JSON); nothing is drawn beyond it.
        most: requests that the server takes at once.

    """
    tokens, seconds = np.array(costs["tokens"]), np.array(costs["seconds"])
    found = {}
    for batch in (size for size in BATCHES if size <= most):
        sizes = batch * np.arange(1, MAX_WINDOW + 2)
        sizes = sizes[(sizes >= tokens[0]) & (sizes <= tokens[-1])]
        if batch >= tokens[0] and len(sizes) > 1:
            taken = np.interp(sizes, tokens, seconds) + batch * costs["request_s"]
            taken[1:] += costs["drafts_s"]
            found[batch] = (taken / taken[0]).tolist()
    return found
