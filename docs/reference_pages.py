"""Writes the reference pages that are lists: docs/reference/cli.md and metrics.md, before the site is built."""

from collections.abc import Iterator
from pathlib import Path

import click
import typer
from typer.cli import get_docs_for_click
from typer.core import TyperGroup

from verispec_bench.cli import app
from verispec_bench.measure.metric import PERCENTILES, SOURCES, Distribution
from verispec_bench.measure.registry import METRICS

REFERENCE = Path(__file__).parent / "reference"
ARROWS = {"higher": "↑", "lower": "↓", None: ""}
STATISTICS = ", ".join(["mean", "median", "std", *(f"p{percentile:g}" for percentile in PERCENTILES)])


def command_line() -> str:
    """The commands' own help."""
    command = typer.main.get_command(app)
    assert isinstance(command, TyperGroup)
    for each in command.commands.values():
        first = (each.help or "").partition("\n\n")[0].partition(". ")[0]
        each.short_help = first if first.endswith((".", "?")) else f"{first}."
    text = get_docs_for_click(obj=command, ctx=click.Context(command, info_name="verispec"), name="verispec")
    return text.replace("# `verispec`", "# Command line", 1)


def metrics() -> Iterator[str]:
    """The declared metrics, line by line."""
    yield (
        "# Metrics\n\nEach is declared once, and written to `cells.csv` for every run. What was not observed is null, "
        "never 0. The arrow says which direction is better. A *distribution* has a column for each of "
        f"{STATISTICS}, with 95% intervals of the percentiles (`_low`, `_high`); the statistic stands before its name, "
        "the unit behind.\n"
    )
    yield "| metric | unit | | formula | from |\n|---|---|---|---|---|"
    for metric in METRICS:
        kind = "*distribution.* " if isinstance(metric, Distribution) else ""
        formula = (kind + metric.formula).replace("|", "\\|")
        yield f"| `{metric.name}` | {metric.unit} | {ARROWS[metric.better]} | {formula} | {', '.join(metric.needs)} |"
    yield "\n## What they are computed from\n\n| | |\n|---|---|"
    for source, meaning in SOURCES.items():
        yield f"| {source} | {meaning} |"


if __name__ == "__main__":
    (REFERENCE / "cli.md").write_text(command_line(), encoding="utf-8")
    (REFERENCE / "metrics.md").write_text("\n".join(metrics()) + "\n", encoding="utf-8")
