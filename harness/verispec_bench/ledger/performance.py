"""Is it worth it here? An envelope, not one winning point: the cells in which it is shown to win."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from verispec_bench.labels import where
from verispec_bench.ledger.entry import Entry, Ledger
from verispec_bench.scenario import BASELINE


@dataclass(frozen=True)
class Thresholds:
    """What a cell must reach.

    Attributes:
        speedup: the lower end of the speedup's 95% interval, at least.
        p95_tpot_ratio: p95 of the time per output token over the baseline's, at most; it must be known.

    """

    speedup: float = 1.0
    p95_tpot_ratio: float = 1.03


def envelope(summary: dict[str, Any], arm: str, thresholds: Thresholds) -> list[dict[str, Any]]:
    """Each cell of an arm against the matched baseline: what was found there, and whether it is inside."""
    comparisons = [c for c in summary["comparisons"] if (c["arm"], c["baseline"]) == (arm, BASELINE)]
    return [
        {
            "cell": comparison["cell"],
            "where": where(comparison, comparisons),
            "speedup": comparison["speedup"],
            "speedup_low": comparison["speedup_low"],
            "p95_tpot_ratio": comparison["p95_tpot_ratio"],
            "valid": comparison["valid"],
            "inside": not (outside := _outside(comparison, thresholds)),
            "because": outside,
        }
        for comparison in comparisons
    ]


def _outside(comparison: dict[str, Any], thresholds: Thresholds) -> list[str]:
    if not comparison["valid"]:
        return [f"invalid: {'; '.join(comparison['reasons'])}"]
    found = []
    low, p95 = comparison["speedup_low"], comparison["p95_tpot_ratio"]
    if low is None or low < thresholds.speedup:
        known = "has no interval" if low is None else f"may be as low as {low:.2f}"
        found.append(f"the speedup {known}")
    if p95 is None or p95 > thresholds.p95_tpot_ratio:
        known = "is not known, of too few requests" if p95 is None else f"is {p95:.2f} times the baseline's"
        found.append(f"p95 TPOT {known}")
    return found


def performance_ledger(
    release: dict[str, Any],
    measured: dict[str, Any],
    summary: dict[str, Any],
    cells: Sequence[dict[str, Any]],
    thresholds: Thresholds,
    file: str,
) -> Ledger:
    """Of a server.

    Args:
        release: its release manifest.
        measured: that of the arm of the sweep.
        summary: of the sweep.
        cells: the arm's envelope there.
        thresholds: what a cell must reach.
        file: where the summary was read.

    """
    entries = (_same(release, measured, file), _measured(summary, cells, file), _wins(cells, thresholds, file))
    return Ledger("performance", entries)


def _same(release: dict[str, Any], measured: dict[str, Any], file: str) -> Entry:
    claim = "measured with this very server: same contract, limits and machine"
    parts = {"contract_sha256": "contract", "fallback": "baseline or limits", "machine": "machine"}
    other = [name for key, name in parts.items() if release[key] != measured[key]]
    if other:
        said = f"the sweep's server has another {' and another '.join(other)}"
        return Entry(claim, "open", said, file=file, would_close="verispec sweep SCENARIO, with this server")
    return Entry(claim, "closed", f"contract {release['contract_sha256'][:12]}", file=file)


def _measured(summary: dict[str, Any], cells: Sequence[dict[str, Any]], file: str) -> Entry:
    claim = "measured against a matched target-only server, undisturbed, to the end"
    invalid = sum(not cell["valid"] for cell in cells)
    again = "verispec sweep SCENARIO --resume --out DIR, on a quiet machine"
    if not cells:
        return Entry(claim, "open", "no cell was compared", file=file, would_close=again)
    if not summary["complete"]:
        return Entry(claim, "open", "the sweep was not finished", file=file, would_close=again)
    if invalid == len(cells):
        return Entry(claim, "open", f"all {invalid} cells are invalid", file=file, would_close=again)
    left_out = f", {invalid} invalid and left out" if invalid else ""
    return Entry(claim, "closed", f"{len(cells)} cells{left_out}", file=file)


def _wins(cells: Sequence[dict[str, Any]], thresholds: Thresholds, file: str) -> Entry:
    claim = f"a region in which the speedup is at least {thresholds.speedup:g} with 95% confidence"
    inside = [cell for cell in cells if cell["inside"]]
    best = max((cell["speedup_low"] for cell in cells if cell["speedup_low"] is not None), default=None)
    if inside:
        return Entry(claim, "closed", "; ".join(cell["where"] for cell in inside), best, thresholds.speedup, file)
    return Entry(claim, "broken", f"none of {len(cells)} cells", best, thresholds.speedup, file)
