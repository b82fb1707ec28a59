"""How many drafts a verification round kept: the whole distribution, not its mean alone."""

from typing import Any

from matplotlib.figure import Figure

from verispec_bench.report.figures.lines import draw_lines


def draw_acceptance(summary: dict[str, Any]) -> Figure | None:
    """The share of rounds that kept at least 1, 2, … drafts: what lies below a line is the mean of kept drafts."""
    cells = [cell for arm in summary["arms"].values() for cell in arm if cell["accepted_per_round"]]
    if not cells:
        return None
    return draw_lines(
        cells, _survival, "Accepted lengths: how many drafts a round keeps", "drafts", "kept so many or more"
    )


def _survival(cell: dict[str, Any]) -> tuple[list[int], list[float]]:
    rounds = {int(kept): count for kept, count in cell["accepted_per_round"].items()}
    lengths = list(range(max(rounds) + 1))
    total = sum(rounds.values())
    return lengths, [sum(count for kept, count in rounds.items() if kept >= least) / total for least in lengths]
