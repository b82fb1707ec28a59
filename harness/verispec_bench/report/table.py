"""The summary as a table on the terminal."""

from typing import Any

from rich import box
from rich.table import Table

Comparison = dict[str, Any]


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
    title = f"{summary['scenario']}: speculative / target-only, 95% intervals (c: concurrency, batch: running requests)"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("workload", "arm"):
        table.add_column(column)
    for column in ("c", "batch", "output tok/s", "TPOT p50", "TPOT p95", "tokens/step", "same tokens", "verdict"):
        table.add_column(column, justify="right")
    styles = {"wins": "green", "loses": "red", "even": "", "invalid": "yellow"}
    for comparison in summary["comparisons"]:
        word = verdict(comparison)
        table.add_row(
            comparison["workload"],
            comparison["arm"],
            str(comparison["concurrency"]),
            number(comparison["batch_size_mean"], 1),
            with_interval(comparison, "speedup"),
            with_interval(comparison, "p50_tpot_ratio"),
            with_interval(comparison, "p95_tpot_ratio"),
            number(comparison["tokens_per_step"]),
            same_tokens(comparison),
            f"[{styles[word]}]{word}[/]" if styles[word] else word,
        )
    return table
