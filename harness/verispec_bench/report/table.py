"""The summary as a table on the terminal."""

from typing import Any

from rich import box
from rich.table import Table

from verispec_bench.labels import load_label, setting_label

Comparison = dict[str, Any]
SPEEDUP = {
    "output_throughput": "output tokens per second, the arm's over the baseline's",
    "mean_e2el": "mean end-to-end latency, the baseline's over the arm's",
}
"""What a speedup is, by its kind."""


def verdict(comparison: Comparison) -> str:
    """What the interval says: "wins", "loses", "even" (it holds 1), or "invalid"."""
    if not comparison["valid"] or comparison["speedup_low"] is None:
        return "invalid"
    if comparison["speedup_low"] > 1:
        return "wins"
    return "loses" if comparison["speedup_high"] < 1 else "even"


def number(value: float | None, digits: int = 2) -> str:
    """The number, or n/a."""
    return "n/a" if value is None else f"{value:.{digits}f}"


def with_interval(comparison: Comparison, key: str) -> str:
    """value [low, high]."""
    if comparison[key] is None:
        return "n/a"
    low, high = comparison[f"{key}_low"], comparison[f"{key}_high"]
    return f"{comparison[key]:.2f} [{number(low)}, {number(high)}]"


def same_tokens(comparison: Comparison) -> str:
    """Whether both arms gave the same greedy token ids: "yes (12)", "2 of 12 differ", "n/a" for sampled cells."""
    compared, different = comparison["greedy_compared"], comparison["greedy_different"]
    if not compared:
        return "n/a"
    return f"{different} of {compared} differ" if different else f"yes ({compared})"


def summary_table(summary: dict[str, Any]) -> Table:
    """One line for each comparison."""
    comparisons = summary["comparisons"]
    baselines = sorted({comparison["baseline"] for comparison in comparisons}, reverse=True)
    title = f"{summary['scenario']}: ratios to {' and to '.join(baselines)}, 95% intervals (batch: running requests)"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("workload", "arm", *(["against"] if len(baselines) > 1 else [])):
        table.add_column(column)
    settings = any(setting_label(comparison, comparisons) for comparison in comparisons)
    for column in ("load", *(["setting"] if settings else []), "batch", "speedup", "TPOT p50", "TPOT p95"):
        table.add_column(column, justify="right")
    for column in ("tokens/step", "same tokens", "verdict"):
        table.add_column(column, justify="right")
    styles = {"wins": "green", "loses": "red", "even": "", "invalid": "yellow"}
    for comparison in comparisons:
        word = verdict(comparison)
        table.add_row(
            comparison["workload"],
            comparison["arm"],
            *([comparison["baseline"]] if len(baselines) > 1 else []),
            load_label(comparison),
            *([setting_label(comparison, comparisons)] if settings else []),
            number(comparison["batch_size_mean"], 1),
            with_interval(comparison, "speedup"),
            with_interval(comparison, "p50_tpot_ratio"),
            with_interval(comparison, "p95_tpot_ratio"),
            number(comparison["tokens_per_step"]),
            same_tokens(comparison),
            f"[{styles[word]}]{word}[/]" if styles[word] else word,
        )
    return table
