"""Two schedulers: one drafter and the same prompts, one request at a time and saturated.

What is accepted is the model's affair and must be the same; whether it pays is the load's. Both verdicts are stated
side by side, and only if acceptance agrees: else the two cells did not see the same drafter.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from verispec_bench.client import RequestRecord
from verispec_bench.scenario import TARGET_ONLY
from verispec_bench.stats.interval import Floats, Ratio, Rows, interval
from verispec_bench.sweep.pairs import Records, Row

SAME = ("arm", "workload", "input_len", "output_len", "temperature", "max_num_seqs", "dtype")
"""What the two cells have in common."""


def two_schedulers(
    comparisons: Sequence[dict[str, Any]], blocks: Mapping[str, Sequence[Mapping[str, Row]]], records: Records
) -> list[dict[str, Any]]:
    """The lightest and the heaviest closed loop of each arm; cells whose acceptance does not agree become invalid.

    Args:
        comparisons: against the feature-matched baseline; each says its `cell`.
        blocks: by cell: {arm: row} of each block of prompts.
        records: by run.

    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for comparison in comparisons:
        if comparison["arm"] not in TARGET_ONLY and comparison["concurrency"] is not None:
            groups.setdefault(tuple(comparison[key] for key in SAME), []).append(comparison)
    found = []
    for cells in groups.values():
        light, heavy = (pick(cells, key=lambda c: c["concurrency"]) for pick in (min, max))
        if light is heavy:
            continue
        arm = light["arm"]
        runs = [[records[block[arm]["run"]] for block in blocks[c["cell"]]] for c in (light, heavy)]
        ratio = _acceptance_ratio(*runs)
        agrees = ratio.low is not None and ratio.high is not None and ratio.low <= 1 <= ratio.high
        if not agrees:
            for comparison in (light, heavy):
                comparison["valid"] = False
                comparison["reasons"].append("acceptance differs between the loads: this is not one drafter")
        found.append(
            {key: light[key] for key in SAME}
            | {
                "loads": [c["concurrency"] for c in (light, heavy)],
                "speedups": [c["speedup"] for c in (light, heavy)],
                "acceptance_rates": [c["acceptance_rate"] for c in (light, heavy)],
                "acceptance_ratio": ratio.value,
                "acceptance_ratio_low": ratio.low,
                "acceptance_ratio_high": ratio.high,
                "acceptance_agrees": agrees,
            }
        )
    return found


def _acceptance_ratio(light: Sequence[Sequence[RequestRecord]], heavy: Sequence[Sequence[RequestRecord]]) -> Ratio:
    """Accepted / drafted, heavy over light, over the same prompts."""
    pairs = [[(a, b) for a, b in zip(*runs, strict=True) if a.ok and b.ok] for runs in zip(light, heavy, strict=False)]
    counts = np.array(
        [[(r.num_accepted_tokens or 0, r.num_draft_tokens or 0) for r in pair] for run in pairs for pair in run],
        dtype=np.float64,
    ).reshape(-1, 2, 2)

    def statistic(rows: Rows) -> Floats:
        totals = counts[rows].sum(axis=-3)
        with np.errstate(divide="ignore", invalid="ignore"):
            rates = totals[..., 0] / totals[..., 1]
            return np.asarray(np.log(rates[..., 1] / rates[..., 0]))

    return interval([len(run) for run in pairs], statistic)
