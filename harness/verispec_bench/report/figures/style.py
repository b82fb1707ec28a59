"""How all figures look, and what they are drawn on: no window, whatever pyplot would open."""

from typing import Any

from cycler import cycler
from matplotlib.figure import Figure

COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#000000", "#999999")
"""Okabe and Ito's, told apart by colour-blind people too."""
MARKERS = "os^Dv<P*"
"""Beside each color, for those who see none, and for print."""

STYLE: Any = {
    "axes.prop_cycle": cycler(color=COLORS),
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e0e0e0",
    "legend.frameon": False,
    "savefig.dpi": 150,
}


def subplots(
    rows: int = 1, columns: int = 1, *, figsize: tuple[float, float], layout: Any = None, **options: Any
) -> tuple[Figure, Any]:
    """A figure and its axes, as pyplot.subplots gives them."""
    figure = Figure(figsize=figsize, layout=layout)
    return figure, figure.subplots(rows, columns, **options)
