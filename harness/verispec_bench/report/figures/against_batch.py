"""Ratios against the batch size that was really run: speedup, and the latencies that it is paid with."""

from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from verispec_bench.report.figures.style import subplots
from verispec_bench.report.table import line_label, load_label

Comparison = dict[str, Any]
LOSS = "#fbe9e7"


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
    """A ratio with its interval over the batch size that was really run; one line for each workload and arm."""
    points = [c for c in summary["comparisons"] if c[key] is not None and c["batch_size_mean"]]
    if not points:
        return None
    figure, axes = subplots(figsize=(7.5, 4.6))
    oracles = _oracles(summary) if key == "speedup" else {}
    for index, (name, line) in enumerate(_lines(points).items()):
        _draw_line(axes, line, key, name, f"C{index}")
        _draw_oracle(axes, line, oracles, f"C{index}")
    if oracles:
        axes.plot([], [], "_", color="gray", markersize=12, label="had no rejected draft been verified")
    axes.axhline(1.0, color="black", linewidth=1)
    low, high = axes.get_ylim()
    span = max(high - 1, 1 - low) * 0.15
    low, high = min(low, 1 - span), max(high, 1 + span)
    axes.set_ylim(low, high)
    axes.axhspan(*((1, high) if loses_above else (low, 1)), color=LOSS, zorder=0, linewidth=0)
    axes.text(0.995, 0.985 if loses_above else 0.015, "speculation loses", transform=axes.transAxes, color="#b71c1c",
              ha="right", va="top" if loses_above else "bottom", fontsize=9)  # fmt: skip
    _batch_axis(axes, [c["batch_size_mean"] for c in points])
    axes.set_ylabel(label)
    axes.set_title(title, loc="left")
    axes.legend(loc="best")
    return figure


def _speedup_label(summary: dict[str, Any]) -> str:
    kinds = {c["speedup_kind"] for c in summary["comparisons"] if c["speedup"] is not None}
    return "speedup: " + "; ".join(_RATIOS[kind] for kind in sorted(kinds)) if kinds else ""


_RATIOS = {"output_throughput": "output tokens/s, arm / baseline", "mean_e2el": "mean E2EL, baseline / arm"}


def _lines(points: list[Comparison]) -> dict[str, list[Comparison]]:
    lines: dict[str, list[Comparison]] = {}
    for point in sorted(points, key=lambda c: c["batch_size_mean"]):
        lines.setdefault(line_label(point, points), []).append(point)
    return lines


def _draw_line(axes: Axes, line: list[Comparison], key: str, name: str, color: str) -> None:
    x, y = [c["batch_size_mean"] for c in line], [c[key] for c in line]
    axes.plot(x, y, color=color, linewidth=1.2, label=name)
    for comparison, at, value in zip(line, x, y, strict=True):
        low, high = comparison[f"{key}_low"], comparison[f"{key}_high"]
        if low is not None and high is not None:
            errors = [[max(0.0, value - low)], [max(0.0, high - value)]]
            axes.errorbar(at, value, yerr=errors, color=color, capsize=3, linewidth=1.2)
        face = color if comparison["valid"] else "white"
        axes.plot(at, value, "o", color=color, markerfacecolor=face, markersize=6)
        axes.annotate(load_label(comparison) + ("" if comparison["valid"] else ", invalid"), (at, value),
                      textcoords="offset points", xytext=(7, 5), fontsize=8, color=color)  # fmt: skip


def _oracles(summary: dict[str, Any]) -> dict[tuple[str, str, str], float]:
    """By cell, arm and baseline: the speedup, had no draft been verified that was then rejected."""
    cells = (summary.get("prediction") or {}).get("cells", [])
    return {(c["cell"], c["arm"], c["baseline"]): c["speedup_oracle"] for c in cells if c.get("speedup_oracle")}


def _draw_oracle(axes: Axes, line: list[Comparison], oracles: dict[tuple[str, str, str], float], color: str) -> None:
    for comparison in line:
        oracle = oracles.get((comparison["cell"], comparison["arm"], comparison["baseline"]))
        if oracle is not None:
            axes.plot(comparison["batch_size_mean"], oracle, "_", color=color, markersize=12)


def _batch_axis(axes: Axes, sizes: list[float]) -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator([2**power for power in range(12)]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlim(min(sizes) / 1.3, max(sizes) * 1.45)
    axes.set_xlabel("batch size: running requests, mean of samples in steady state (c: concurrency)")
