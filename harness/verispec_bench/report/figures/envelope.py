"""Where to turn it on: a map of workloads and loads, each cell with its speedup and what the interval says."""

from typing import Any

from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from verispec_bench.labels import load_label, setting_label
from verispec_bench.report.figures.style import subplots
from verispec_bench.report.table import number, verdict

COLORS = {"wins": "#c8e6c9", "even": "#eeeeee", "loses": "#ffccbc", "invalid": "#fff9c4"}


def draw_envelope(summary: dict[str, Any]) -> Figure | None:
    """A panel for each arm and baseline: rows are workloads and settings, columns are loads."""
    comparisons = [c for c in summary["comparisons"] if c["speedup"] is not None]
    panels: dict[str, list[dict[str, Any]]] = {}
    for comparison in comparisons:
        panels.setdefault(f"{comparison['arm']} against {comparison['baseline']}", []).append(comparison)
    if len(comparisons) < 2:
        return None
    rows = list(dict.fromkeys(_row(c, comparisons) for c in comparisons))
    loads = list(dict.fromkeys(load_label(c) for c in sorted(comparisons, key=_load)))
    size = (2.2 + 1.15 * len(loads), (0.75 + 0.5 * len(rows)) * len(panels))
    figure, grid = subplots(len(panels), 1, figsize=size, squeeze=False)
    for axes, (title, cells) in zip(grid[:, 0], panels.items(), strict=True):
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xlim(0, len(loads))
        axes.set_ylim(len(rows), 0)
        axes.set_xticks([place + 0.5 for place in range(len(loads))], loads)
        axes.set_yticks([place + 0.5 for place in range(len(rows))], rows)
        axes.tick_params(length=0)
        axes.grid(visible=False)
        for comparison in cells:
            x, y = loads.index(load_label(comparison)), rows.index(_row(comparison, comparisons))
            word = verdict(comparison)
            axes.add_patch(Rectangle((x + 0.03, y + 0.05), 0.94, 0.9, color=COLORS[word]))
            text = f"{number(comparison['speedup'])}\n{word}"
            axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=9)
    figure.suptitle("Where speculation pays: speedup, and what its 95% interval says", x=0.02, ha="left")
    figure.tight_layout()
    return figure


def _row(comparison: dict[str, Any], among: list[dict[str, Any]]) -> str:
    return ", ".join(filter(None, (comparison["workload"], setting_label(comparison, among))))


def _load(comparison: dict[str, Any]) -> tuple[float, float]:
    return (comparison["concurrency"] or 0, comparison.get("request_rate") or comparison.get("trace_speed") or 0)
