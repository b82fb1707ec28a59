"""The verdict of a sweep in a sentence for each arm."""

from collections import Counter
from typing import Any

from verispec_bench.report.table import number, verdict

WORSE = 1.03
"""From this ratio on a p95 counts as worse."""
WORDS = ("wins", "even", "loses", "invalid")


def headlines(summary: dict[str, Any]) -> list[str]:
    """One for each arm and what it was compared with; empty where nothing was compared."""
    pairs: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for comparison in summary["comparisons"]:
        pairs.setdefault((comparison["arm"], comparison["baseline"]), []).append(comparison)
    return [_sentence(arm, baseline, cells) for (arm, baseline), cells in pairs.items()]


def _sentence(arm: str, baseline: str, cells: list[dict[str, Any]]) -> str:
    count = Counter(verdict(cell) for cell in cells)
    found = ", ".join(f"{word} in {count[word]}{_range(cells, word)}" for word in WORDS if count[word])
    slower = [c for c in cells if c["p95_tpot_ratio"] is not None and c["p95_tpot_ratio"] > WORSE]
    tail = f"; p95 TPOT is more than {WORSE:g} times the baseline's in {len(slower)}" if slower else ""
    return f"{arm} against {baseline}, {len(cells)} cell{'s' if len(cells) > 1 else ''}: {found}{tail}."


def _range(cells: list[dict[str, Any]], word: str) -> str:
    speedups = sorted(c["speedup"] for c in cells if verdict(c) == word and c["speedup"] is not None)
    if not speedups or word == "invalid":
        return ""
    low, high = number(speedups[0]), number(speedups[-1])
    return f" ({low})" if low == high else f" ({low} to {high})"
