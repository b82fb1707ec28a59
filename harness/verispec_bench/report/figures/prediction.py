"""Predicted against measured: speedups of cells that the speed model had not seen."""

from typing import Any

from matplotlib.figure import Figure

from verispec_bench.report.figures.style import MARKERS, subplots


def draw_prediction(summary: dict[str, Any]) -> Figure | None:
    """A dot for each cell; the band is 5% to either side."""
    prediction = summary.get("prediction")
    if not prediction:
        return None
    cells = prediction["cells"]
    figure, axes = subplots(figsize=(5.2, 4.6))
    values = [value for cell in cells for value in (cell["speedup"], cell["speedup_predicted"])]
    low, high = min(values) * 0.9, max(values) * 1.1
    axes.fill_between([low, high], [0.95 * low, 0.95 * high], [1.05 * low, 1.05 * high], color="#e3f2fd")
    axes.plot([low, high], [low, high], color="black", linewidth=1)
    for index, arm in enumerate(dict.fromkeys(cell["arm"] for cell in cells)):
        of_arm = [cell for cell in cells if cell["arm"] == arm]
        measured, predicted = ([cell[key] for cell in of_arm] for key in ("speedup", "speedup_predicted"))
        axes.scatter(measured, predicted, color=f"C{index}", marker=MARKERS[index % len(MARKERS)], alpha=0.8, label=arm)
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)
    axes.set_xlabel("speedup measured")
    axes.set_ylabel("speedup predicted, the cell held out")
    axes.set_title("Predicted against measured", loc="left")
    axes.legend(fontsize=8)
    return figure
