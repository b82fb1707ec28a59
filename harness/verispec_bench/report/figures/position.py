"""Of the drafts at each position, given that those before were kept: how many were kept?"""

from typing import Any

from matplotlib.figure import Figure

from verispec_bench.report.figures.lines import draw_lines

LEAST_ROUNDS = 20
"""Rounds that reached a position, below which its rate is not drawn."""


def draw_positions(summary: dict[str, Any]) -> Figure | None:
    """As far as enough rounds reached a position."""
    cells = [c for arm in summary["arms"].values() for c in arm if c.get("conditional_acceptance_rates")]
    if not cells:
        return None
    return draw_lines(
        cells, _rates, "Acceptance by position (conditional)", "position in the draft", "kept, if those before were"
    )


def _rates(cell: dict[str, Any]) -> tuple[list[int], list[float]]:
    rates = cell["conditional_acceptance_rates"][: _reached(cell)]
    return list(range(1, len(rates) + 1)), rates


def _reached(cell: dict[str, Any]) -> int:
    """Positions before which at least LEAST_ROUNDS rounds had kept all drafts."""
    rounds = {int(kept): count for kept, count in (cell["accepted_per_round"] or {}).items()}
    return sum(
        sum(count for kept, count in rounds.items() if kept >= place) >= LEAST_ROUNDS
        for place in range(len(cell["conditional_acceptance_rates"]))
    )
