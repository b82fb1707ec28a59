"""Is a cell known well enough, or does it get a further block of prompts?"""

from collections.abc import Mapping, Sequence

from verispec_bench.record import ResultDirectory
from verispec_bench.scenario import BASELINE, DEFAULT_BASELINE, Scenario
from verispec_bench.sweep.pairs import Records, Row, is_clean, paired, whole_blocks

LOOKS = 2
"""So often in a row an interval must be narrow enough. To stop at the first would favour intervals that are narrow by
chance: they would cover 92% where they claim 95% (tests/harness/stats/test_interval.py)."""


def needs_more(results: ResultDirectory, cell: str, scenario: Scenario) -> bool:
    """Some arm's interval in this cell is, or just was, wider than the scenario wants; or too few blocks are clean."""
    load = scenario.load
    if load.half_width is None:
        return False
    rows = [row for row in results.rows() if row["cell"] == cell]
    blocks = whole_blocks(rows, scenario.all_arms, load.blocks)
    if len(blocks) < load.blocks + LOOKS - 1 or not all(map(is_clean, blocks)):
        return True
    records = results.records_of(row["run"] for block in blocks for row in block.values())
    return any(
        _is_wide(blocks[: len(blocks) - look], arm, records, scenario)
        for arm in scenario.all_arms
        if arm not in (BASELINE, DEFAULT_BASELINE)
        for look in range(LOOKS)
    )


def _is_wide(blocks: Sequence[Mapping[str, Row]], arm: str, records: Records, scenario: Scenario) -> bool:
    speedup = paired(blocks, BASELINE, arm, records, scenario.load.trim).speedup
    if speedup.low is None or speedup.high is None or scenario.load.half_width is None:
        return True
    return bool((speedup.high / speedup.low) ** 0.5 - 1 > scenario.load.half_width)
