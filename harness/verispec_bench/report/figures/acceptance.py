"""How many drafts a verification round kept: the whole distribution, not its mean alone."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from verispec_bench.labels import cell_label
from verispec_bench.report.figures.style import subplots


def draw_acceptance(summary: dict[str, Any]) -> Figure | None:
    """How many drafts each verification round kept."""
    cells = [cell for arm in summary["arms"].values() for cell in arm if cell["accepted_per_round"]]
    if not cells:
        return None
    workloads = list(dict.fromkeys(cell["workload"] for cell in cells))
    figure, panels = subplots(1, len(workloads), figsize=(7.5, 3.4), sharey=True, squeeze=False)
    for axes, workload in zip(panels[0], workloads, strict=True):
        lines = [cell for cell in cells if cell["workload"] == workload]
        for index, cell in enumerate(lines):
            histogram = {int(kept): count for kept, count in cell["accepted_per_round"].items()}
            rounds = sum(histogram.values())
            offset = 0.8 * (index - (len(lines) - 1) / 2) / len(lines)
            axes.bar([kept + offset for kept in histogram], [count / rounds for count in histogram.values()],
                     width=0.8 / len(lines), label=f"{cell_label(cell, cells)}, {cell['arm']}")  # fmt: skip
        axes.set_title(workload, loc="left")
        axes.set_xlabel("drafts kept in a round (0: only the repair)")
        axes.xaxis.set_major_locator(FixedLocator(range(200)))
    panels[0][0].set_ylabel("share of rounds with a draft")
    panels[0][-1].legend(fontsize=8)
    figure.suptitle("Accepted-length distribution", x=0.02, ha="left")
    figure.tight_layout()
    return figure
