"""Greedy parity on the terminal: a line for each arm, then each difference."""

from collections.abc import Iterator
from statistics import median
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from verispec_bench.exactness.parity.difference import NEAR_TIE

_STYLES = {"closed": "green", "rate": "cyan", "differs": "red", "drifts": "red"}


def parity_table(summary: dict[str, Any]) -> Table:
    """One line for each arm."""
    parity = summary["parity"]
    title = f"{summary['scenario']}: greedy answers against target-only, {parity['dtype'] or 'dtype unknown'}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("arm")
    for column in ("answers", "identical", "near-ties", "unexplained", "accepted", "envelope", "rows outside"):
        table.add_column(column, justify="right")
    table.add_column("verdict", justify="right")
    for arm in parity["arms"]:
        drafted, outside = arm["draft_tokens"], arm["rows_outside"]
        verdict = f"{arm['identical_rate']:.1%} identical" if arm["verdict"] == "rate" else arm["verdict"]
        table.add_row(
            arm["arm"],
            str(arm["compared"]),
            str(arm["identical"]),
            str(arm["near_ties"]),
            str(arm["unexplained"]),
            f"{arm['accepted_tokens'] / drafted:.0%}" if drafted else "n/a",
            _nats(parity["envelope"]["maximum"]),
            "n/a" if outside is None else f"{outside:.2%}",
            f"[{_STYLES.get(arm['verdict'], 'yellow')}]{verdict}[/]",
        )
    return table


def difference_lines(parity: dict[str, Any]) -> Iterator[Text]:
    """Every difference of every arm, with both sides, both gaps and its verdict; where near-ties are a rate, one line
    for all of them.
    """
    as_rate = parity["reported_as"] == "rate"
    for arm in parity["arms"]:
        for reason in arm["reasons"]:
            yield Text.assemble((arm["verdict"], "yellow"), f" {arm['arm']}: {reason}")
        positions = [found["position"] for found in arm["divergences"] if found["kind"] == "token"]
        if as_rate and positions:
            yield Text(
                f"{arm['arm']}: {len(positions)} answers go on with another token from position {min(positions)} to "
                f"{max(positions)} on (median {median(positions):g}), {arm['near_ties']} at near-ties"
            )
        for found in arm["divergences"]:
            if not (as_rate and found["verdict"] == NEAR_TIE):
                style = "green" if found["verdict"] == NEAR_TIE else "red"
                yield Text.assemble((found["verdict"], style), f" {arm['arm']}, {found['prompt']}: {_what(found)}")


def _what(found: dict[str, Any]) -> str:
    if found["kind"] != "token":
        return f"{found['kind']} {_shortened(found['baseline'])} against {_shortened(found['arm'])}"
    ours, theirs = (f"{found[side]} {found[f'{side}_text']!r}" for side in ("baseline", "arm"))
    gaps = f"gap {_nats(found['baseline_gap'])} on target-only, {_nats(found['arm_gap'])} on the arm"
    return f"token {found['position']} is {ours}, and {theirs}; {gaps}"


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:60]} … {text[-50:]}"


def _nats(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2g}"
