"""The summary as a table on the terminal."""

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table

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


def load_label(comparison: Comparison) -> str:
    """Of a closed loop its concurrency, of an open loop its rate: "c=4", "2.5/s", "trace x2"."""
    if comparison["concurrency"] is not None:
        return f"c={comparison['concurrency']}"
    if comparison["request_rate"] is not None:
        return f"{comparison['request_rate']:g}/s"
    return f"trace x{comparison['trace_speed']:g}"


def setting_label(comparison: Comparison, among: Sequence[Comparison]) -> str:
    """Those keys of a cell in which the comparisons of a sweep differ, its load left out: "in 512, t 0.8"."""
    parts = []
    for key, lead in _SETTINGS.items():
        value = comparison.get(key)
        if value is not None and len({other.get(key) for other in among}) > 1:
            parts.append(f"{lead}{value:g}" if isinstance(value, float) else f"{lead}{value}")
    return ", ".join(parts)


_SETTINGS = {"input_len": "in ", "output_len": "out ", "temperature": "t ", "max_num_seqs": "limit ", "dtype": ""}


def line_label(comparison: Comparison, among: Sequence[Comparison]) -> str:
    """What one line of a plot over loads stands for: all but the load, as far as the comparisons differ in it."""
    named = {key: len({other.get(key) for other in among}) > 1 for key in ("arm", "baseline")}
    parts = [comparison["workload"], setting_label(comparison, among), comparison["arm"] if named["arm"] else ""]
    against = f" against {comparison['baseline']}" if named["baseline"] else ""
    return ", ".join(filter(None, parts)) + against


def where(comparison: Comparison, among: Sequence[Comparison]) -> str:
    """A comparison in words: "chat, c=4, suffix against target-only"."""
    setting = setting_label(comparison, among)
    parts = [comparison["workload"], load_label(comparison), *([setting] if setting else []), comparison["arm"]]
    several = len({other.get("baseline") for other in among}) > 1
    return ", ".join(parts) + (f" against {comparison['baseline']}" if several else "")


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
