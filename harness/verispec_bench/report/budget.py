"""The time budget of each cell: what a round costs, and what its verification would have to cost to break even."""

from dataclasses import fields
from typing import Any

from verispec_bench.speedmodel import Round, break_even
from verispec_bench.speedmodel.presets import measured_presets


def time_budgets(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """One for each cell whose rounds were timed: its setting, what the model makes of it, and what was measured."""
    budgets = []
    for preset in measured_presets(summary):
        costs = Round(**{field.name: preset[field.name] for field in fields(Round)})
        measured = preset["measured"][0]["speedup"]
        budgets.append(
            {**preset, **break_even(costs, preset["alpha"], batch=preset["batch"]), "speedup_measured": measured}
        )
    return budgets
