"""How all figures look, and what they are drawn on: no window, whatever pyplot would open."""

from typing import Any

from matplotlib.figure import Figure

STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e0e0e0",
    "legend.frameon": False,
    "savefig.dpi": 150,
}


def subplots(rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], **options: Any) -> tuple[Figure, Any]:
    """A figure and its axes, as pyplot.subplots gives them."""
    figure = Figure(figsize=figsize)
    return figure, figure.subplots(rows, columns, **options)
