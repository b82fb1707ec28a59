"""From the runs that are kept to the pairs that are compared."""

from collections.abc import Mapping, Sequence
from typing import Any

from verispec_bench.client import RequestRecord
from verispec_bench.stats import Block, PairedComparison, compare

Row = dict[str, Any]
Records = Mapping[str, list[RequestRecord]]


def whole_blocks(rows: Sequence[Row], names: Sequence[str], wanted: int) -> list[dict[str, Row]]:
    """{arm: row} of each block: of its last attempt that all arms finished.

    Blocks that are contaminated, or whose arms ran on different starts of the servers, are left out, unless fewer than
    `wanted` would remain: then the cell as a whole is not to be believed.
    """
    attempts: dict[int, dict[int, dict[str, Row]]] = {}
    for row in rows:
        attempts.setdefault(int(row["block"]), {}).setdefault(int(row["attempt"]), {})[row["arm"]] = row
    blocks = []
    for _, tried in sorted(attempts.items()):
        whole = [attempt for attempt, runs in tried.items() if runs.keys() >= set(names)]
        if whole:
            blocks.append(tried[max(whole)])
    clean = [block for block in blocks if is_clean(block)]
    return clean if len(clean) >= wanted else blocks


def is_clean(block: Mapping[str, Row]) -> bool:
    """All arms ran undisturbed, on one start of the servers."""
    rows = block.values()
    return not any(row["contaminated"] for row in rows) and len({row.get("start") for row in rows}) == 1


def paired(
    blocks: Sequence[Mapping[str, Row]], baseline: str, arm: str, records: Records, trim: float
) -> PairedComparison:
    """One arm against a baseline over the blocks of a cell."""
    return compare(
        [Block(records[block[baseline]["run"]], records[block[arm]["run"]]) for block in blocks],
        open_loop=blocks[0][baseline]["concurrency"] is None,
        trim=trim,
    )
