"""Ratios against the batch size that was really run: speedup, and the latencies that it is paid with."""

from collections.abc import Callable
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
from numpy.typing import NDArray

from verispec_bench.labels import line_label, load_label
from verispec_bench.report.figures.style import COLORS, MARKERS, subplots

Comparison = dict[str, Any]
LOSS = "#fbe9e7"
ORACLE = "had no rejected draft been verified"


def draw_speedup(summary: dict[str, Any]) -> Figure | None:
    """The speedup, above 1 where speculation wins."""
    return _against_batch(
        summary,
        "speedup",
        title="Speedup against batch size",
        label=_speedup_label(summary),
        loses_above=False,
    )


def tpot_drawer(which: str) -> Callable[[dict[str, Any]], Figure | None]:
    """What draws the ratio of "p50" or "p95" TPOT, below 1 where speculation wins."""

    def draw(summary: dict[str, Any]) -> Figure | None:
        return _against_batch(
            summary,
            f"{which}_tpot_ratio",
            title=f"{which} time per output token against batch size",
            label=f"speculative / target-only, {which} TPOT",
            loses_above=True,
        )

    return draw


def _against_batch(summary: dict[str, Any], key: str, *, title: str, label: str, loses_above: bool) -> Figure | None:
    """A ratio with its interval over the batch size that was really run.

    One line for each workload and arm; where there are several arms, in a panel for each workload.
    """
    points = [c for c in summary["comparisons"] if c[key] is not None and c["batch_size_mean"]]
    if not points:
        return None
    panels = _panels(points)
    columns = min(2, len(panels))
    rows = -(-len(panels) // columns)
    size = (7.5, 4.9) if len(panels) == 1 else (11, 0.8 + 3.5 * rows)
    figure, grid = subplots(rows, columns, figsize=size, sharex=True, sharey=True, squeeze=False, layout="constrained")
    names = dict.fromkeys(name for lines in panels.values() for name in lines)
    looks = dict(zip(names, cycle(zip(COLORS, MARKERS, strict=True)), strict=False))
    oracles = _oracles(summary) if key == "speedup" else {}
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    for axes, (workload, lines) in zip(grid.flat, panels.items(), strict=False):
        axes.set_title(workload, loc="left", fontsize=10)
        axes.axhline(1.0, color="black", linewidth=1)
        for name, line in lines.items():
            _draw_line(axes, line, key, *looks[name], named=name == next(iter(lines)) or len(panels) == 1)
            _draw_oracle(axes, line, oracles, looks[name][0])
    _shade_loss(grid, loses_above)
    _batch_axis(grid, [c["batch_size_mean"] for c in points])
    figure.supylabel(label, fontsize=10)
    figure.suptitle(title, x=0.02, ha="left")
    handles = [Line2D([], [], color=color, marker=marker, label=name) for name, (color, marker) in looks.items()]
    if oracles:
        handles.append(Line2D([], [], color="gray", marker="_", linestyle="", markersize=12, label=ORACLE))
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 4), fontsize=9)
    return figure


def _panels(points: list[Comparison]) -> dict[str, dict[str, list[Comparison]]]:
    """The lines of each panel, by name."""
    by_workload = len({point["arm"] for point in points}) > 1
    panels: dict[str, dict[str, list[Comparison]]] = {}
    for point in sorted(points, key=lambda c: c["batch_size_mean"]):
        panel, name = point["workload"] if by_workload else "", line_label(point, points)
        panels.setdefault(panel, {}).setdefault(name.removeprefix(f"{panel}, "), []).append(point)
    order = dict.fromkeys(point["workload"] for point in points)
    return {name: dict(sorted(panels[name].items())) for name in (order if by_workload else panels)}


def _shade_loss(grid: NDArray[Any], loses_above: bool) -> None:
    low, high = grid[0, 0].get_ylim()
    span = max(high - 1, 1 - low) * 0.15
    low, high = min(low, 1 - span), max(high, 1 + span)
    for axes in (axes for axes in grid.flat if axes.axison):
        axes.set_ylim(low, high)
        axes.axhspan(*((1, high) if loses_above else (low, 1)), color=LOSS, zorder=0, linewidth=0)
        axes.text(0.995, 0.985 if loses_above else 0.015, "speculation loses", transform=axes.transAxes,
                  color="#b71c1c", ha="right", va="top" if loses_above else "bottom", fontsize=9)  # fmt: skip


def _speedup_label(summary: dict[str, Any]) -> str:
    kinds = {c["speedup_kind"] for c in summary["comparisons"] if c["speedup"] is not None}
    return "speedup: " + "; ".join(_RATIOS[kind] for kind in sorted(kinds)) if kinds else ""


_RATIOS = {"output_throughput": "output tokens/s, arm / baseline", "mean_e2el": "mean E2EL, baseline / arm"}


def _draw_line(axes: Axes, line: list[Comparison], key: str, color: str, marker: str, named: bool) -> None:
    """`named`: each dot has its load beside it."""
    x, y = [c["batch_size_mean"] for c in line], [c[key] for c in line]
    axes.plot(x, y, color=color, linewidth=1.2)
    for comparison, at, value in zip(line, x, y, strict=True):
        low, high = comparison[f"{key}_low"], comparison[f"{key}_high"]
        if low is not None and high is not None:
            errors = [[max(0.0, value - low)], [max(0.0, high - value)]]
            axes.errorbar(at, value, yerr=errors, color=color, capsize=2, linewidth=1.2)
        face = color if comparison["valid"] else "white"
        axes.plot(at, value, marker, color=color, markerfacecolor=face, markersize=6)
        if named:
            note = load_label(comparison) + ("" if comparison["valid"] else ", invalid")
            axes.annotate(note, (at, value), textcoords="offset points", xytext=(7, 5), fontsize=8, color=color)


def _oracles(summary: dict[str, Any]) -> dict[tuple[str, str, str], float]:
    """By cell, arm and baseline: the speedup, had no draft been verified that was then rejected."""
    cells = (summary.get("prediction") or {}).get("cells", [])
    return {(c["cell"], c["arm"], c["baseline"]): c["speedup_oracle"] for c in cells if c.get("speedup_oracle")}


def _draw_oracle(axes: Axes, line: list[Comparison], oracles: dict[tuple[str, str, str], float], color: str) -> None:
    for comparison in line:
        oracle = oracles.get((comparison["cell"], comparison["arm"], comparison["baseline"]))
        if oracle is not None:
            axes.plot(comparison["batch_size_mean"], oracle, "_", color=color, markersize=12)


def _batch_axis(grid: NDArray[Any], sizes: list[float]) -> None:
    for axes in grid.flat:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator([2**power for power in range(12)]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlim(min(sizes) / 1.3, max(sizes) * 1.45)
    for column in grid.T:
        lowest = next(axes for axes in reversed(column) if axes.axison)
        lowest.tick_params(labelbottom=True)
        lowest.set_xlabel("batch size: running requests, mean in steady state")
