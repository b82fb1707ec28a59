"""Two schedulers: one drafter and the same prompts, one request at a time and saturated.

What is accepted is the model's affair and must be the same; whether it pays is the load's. Both verdicts are stated
side by side, and only if acceptance agrees: else the two cells did not see the same drafter.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from verispec_bench.client import RequestRecord
from verispec_bench.scenario import BASELINE, TARGET_ONLY
from verispec_bench.stats.interval import Floats, Ratio, Rows, interval
from verispec_bench.sweep.pairs import Records, Row

SAME = ("arm", "workload", "input_len", "output_len", "temperature", "max_num_seqs", "dtype")
"""What the two cells have in common."""


def two_schedulers(
    comparisons: Sequence[dict[str, Any]], blocks: Mapping[str, Sequence[Mapping[str, Row]]], records: Records
) -> list[dict[str, Any]]:
    """The lightest and the heaviest closed loop of each arm; cells whose acceptance does not agree become invalid.

    Args:
        comparisons: all of them; each says its `cell`. What is stated is against the feature-matched baseline.
        blocks: by cell: {arm: row} of each block of prompts.
        records: by run.

    """
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for comparison in comparisons:
        is_matched = comparison["baseline"] == BASELINE and comparison["arm"] not in TARGET_ONLY
        if is_matched and comparison["concurrency"] is not None:
            groups.setdefault(tuple(comparison[key] for key in SAME), []).append(comparison)
    found = []
    for cells in groups.values():
        light, heavy = (pick(cells, key=lambda c: c["concurrency"]) for pick in (min, max))
        if light is heavy:
            continue
        arm = light["arm"]
        ratio = _acceptance_ratio(*(_by_prompt(blocks[c["cell"]], arm, records) for c in (light, heavy)))
        agrees = ratio.low is not None and ratio.high is not None and ratio.low <= 1 <= ratio.high
        if not agrees:
            for comparison in comparisons:
                if comparison["arm"] == arm and comparison["cell"] in (light["cell"], heavy["cell"]):
                    comparison["valid"] = False
                    comparison["reasons"].append("acceptance differs between the loads: this is not one drafter")
        found.append(
            {key: light[key] for key in SAME}
            | {
                "loads": [c["concurrency"] for c in (light, heavy)],
                "speedups": [c["speedup"] for c in (light, heavy)],
                "speedups_low": [c["speedup_low"] for c in (light, heavy)],
                "speedups_high": [c["speedup_high"] for c in (light, heavy)],
                "acceptance_rates": [c["acceptance_rate"] for c in (light, heavy)],
                "acceptance_ratio": ratio.value,
                "acceptance_ratio_low": ratio.low,
                "acceptance_ratio_high": ratio.high,
                "acceptance_agrees": agrees,
            }
        )
    return found


Answers = dict[int, dict[str, RequestRecord]]
"""By block and prompt."""


def _by_prompt(blocks: Sequence[Mapping[str, Row]], arm: str, records: Records) -> Answers:
    return {
        int(block[arm]["block"]): {record.prompt_id: record for record in records[block[arm]["run"]] if record.ok}
        for block in blocks
    }


def _acceptance_ratio(light: Answers, heavy: Answers) -> Ratio:
    """Accepted / drafted, heavy over light, over the prompts that both have answered."""
    pairs = [
        [(answer, heavy[block][prompt]) for prompt, answer in answers.items() if prompt in heavy[block]]
        for block, answers in light.items()
        if block in heavy
    ]
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
