"""The law test on the terminal."""

from typing import Any

from rich import box
from rich.table import Table

_STYLES = {"closed": "green", "deviates": "red", "not drafted": "yellow", "too wide": "yellow"}


def law_table(summary: dict[str, Any]) -> Table:
    """One line for each arm and sampling."""
    title = f"{summary['scenario']}: law of the sampled tokens against target-only"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in ("arm", "sampling"):
        table.add_column(column)
    for column in ("completions", "drafted", "accepted", "TV \\[floor]", "upper 95%", "p (Holm)", "verdict"):
        table.add_column(column, justify="right")
    for test in summary["tests"]:
        accepted = test["acceptance_rate"]
        table.add_row(
            test["arm"],
            sampling_text(test["sampling"]),
            str(test["completions"]),
            f"{test['drafted_share']:.0%}",
            "n/a" if accepted is None else f"{accepted:.0%}",
            f"{test['tv']:.4f} \\[{test['tv_floor']:.4f}]",
            f"{test['tv_upper_95']:.4f}",
            f"{test['p_holm']:.2g}",
            f"[{_STYLES[test['verdict']]}]{test['verdict']}[/]",
        )
    return table


def sampling_text(sampling: dict[str, Any]) -> str:
    """Temperature, and what else is not vLLM's default: "t 1, top-k 40, top-p 0.9"."""
    parts = [f"t {sampling['temperature']:g}"]
    if sampling["top_k"] > 0:
        parts.append(f"top-k {sampling['top_k']}")
    if sampling["top_p"] < 1:
        parts.append(f"top-p {sampling['top_p']:g}")
    return ", ".join(parts)


def anchor_line(summary: dict[str, Any]) -> str:
    """How the figures compare with a bug that shipped."""
    return (
        f"closed: bound at most {summary['max_tv']:g}, no p below {summary['family_wise_error']:g}, and drafted. "
        f"For scale: a bug that shipped (a q that was not the q sampled from) had a TV of {summary['anchor_tv']}."
    )
