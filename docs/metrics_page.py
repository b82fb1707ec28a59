"""Writes reference/metrics.md from the declared metrics, when the documentation is built."""

import mkdocs_gen_files

from verispec_bench.measure.metric import PERCENTILES, SOURCES, Distribution
from verispec_bench.measure.registry import METRICS

ARROWS = {"higher": "↑", "lower": "↓", None: ""}
STATISTICS = ", ".join(["mean", "median", "std", *(f"p{percentile:g}" for percentile in PERCENTILES)])

with mkdocs_gen_files.open("reference/metrics.md", "w") as page:
    print("# Metrics\n", file=page)
    print(
        "Each is declared once, and written to `cells.csv` for every run. What was not observed is null, never 0. "
        "The arrow says which direction is better. A *distribution* has a column for each of "
        f"{STATISTICS}, with 95% intervals of the percentiles (`_low`, `_high`); its name is theirs with the statistic "
        "before it and the unit behind.\n",
        file=page,
    )
    print("| metric | unit | | formula | from |\n|---|---|---|---|---|", file=page)
    for metric in METRICS:
        kind = "*distribution.* " if isinstance(metric, Distribution) else ""
        formula = (kind + metric.formula).replace("|", "\\|")
        needs = ", ".join(metric.needs)
        print(f"| `{metric.name}` | {metric.unit} | {ARROWS[metric.better]} | {formula} | {needs} |", file=page)
    print("\n## What they are computed from\n\n| | |\n|---|---|", file=page)
    for source, meaning in SOURCES.items():
        print(f"| {source} | {meaning} |", file=page)
