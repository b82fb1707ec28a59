"""Is a cell known well enough, or does it get a further block of prompts?"""

from verispec_bench.record import ResultDirectory
from verispec_bench.scenario import BASELINE, CONTROL, DEFAULT_BASELINE, Scenario
from verispec_bench.sweep.pairs import paired, whole_blocks


def needs_more(results: ResultDirectory, cell: str, scenario: Scenario) -> bool:
    """Some arm's interval in this cell is wider than the scenario wants, or too few of its blocks are clean."""
    load = scenario.load
    if load.half_width is None:
        return False
    rows = [row for row in results.rows() if row["cell"] == cell]
    blocks = whole_blocks(rows, scenario.all_arms, load.blocks)
    if len(blocks) < load.blocks or any(row["contaminated"] for block in blocks for row in block.values()):
        return True
    records = results.records_of(row["run"] for block in blocks for row in block.values())
    for arm in scenario.all_arms:
        if arm not in (BASELINE, CONTROL, DEFAULT_BASELINE):
            speedup = paired(blocks, BASELINE, arm, records, load.trim).speedup
            if speedup.low is None or speedup.high is None:
                return True
            if (speedup.high / speedup.low) ** 0.5 - 1 > load.half_width:
                return True
    return False
