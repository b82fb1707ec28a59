"""What the cells of a sweep, and its arms in them, are called where people read of them."""

from collections.abc import Sequence
from typing import Any

Comparison = dict[str, Any]
"""Or an arm in a cell, which has the same keys."""


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


def cell_label(comparison: Comparison, among: Sequence[Comparison]) -> str:
    """Load and setting: "c=4, t 0.8"."""
    return ", ".join(filter(None, (load_label(comparison), setting_label(comparison, among))))


def line_label(comparison: Comparison, among: Sequence[Comparison]) -> str:
    """What one line of a plot over loads stands for: all but the load, as far as the comparisons differ in it."""
    named = {key: len({other.get(key) for other in among}) > 1 for key in ("arm", "baseline")}
    parts = [comparison["workload"], setting_label(comparison, among), comparison["arm"] if named["arm"] else ""]
    against = f" against {comparison['baseline']}" if named["baseline"] else ""
    return ", ".join(filter(None, parts)) + against


def where(comparison: Comparison, among: Sequence[Comparison]) -> str:
    """A comparison in words: "chat, c=4, suffix against target-only"."""
    parts = [comparison["workload"], cell_label(comparison, among), comparison["arm"]]
    several = len({other.get("baseline") for other in among}) > 1
    return ", ".join(parts) + (f" against {comparison['baseline']}" if several else "")
