"""The plan of a sweep in words and data: what `--dry-run` prints."""

from typing import Any

from verispec_bench.scenario import BASELINE
from verispec_bench.server import server_command
from verispec_bench.sweep.sweep import PreparedSweep


def describe_plan(sweep: PreparedSweep) -> dict[str, Any]:
    """Cells, blocks, servers and identity; `text` is for people."""
    scenario = sweep.scenario
    cells: dict[str, dict[str, Any]] = {}
    for block in sweep.blocks:
        cell = cells.setdefault(block.cell.id, {**block.cell.key(), "requests_per_arm": 0, "order": []})
        cell["requests_per_arm"] += len(block.attempts[0])
        cell["order"] += block.arms
    commands = {
        arm: server_command(scenario, arm, sweep.interpreter, port=0).shell_line() for arm in (BASELINE, *scenario.arms)
    }
    return {
        "scenario": scenario.name,
        "identity_sha256": sweep.manifest["identity_sha256"],
        "cells": cells,
        "servers": commands,
        "text": _text(sweep, cells, commands),
    }


def _text(sweep: PreparedSweep, cells: dict[str, dict[str, Any]], commands: dict[str, str]) -> str:
    width = max(map(len, cells))
    lines = [f"{sweep.scenario.name}: {sweep.scenario.title}", "", "cells (requests for each arm; order of the runs)"]
    lines += [
        f"  {id_:<{width}}  {cell['requests_per_arm']:>4}  {' '.join(cell['order'])}" for id_, cell in cells.items()
    ]
    lines += ["", "servers (port 0 stands for a free one)"]
    lines += [f"  {arm}: {command}" for arm, command in commands.items()]
    return "\n".join(lines)
