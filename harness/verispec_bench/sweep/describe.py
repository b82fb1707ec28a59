"""The plan of a sweep in words and data: what `--dry-run` prints."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from verispec_bench.server import server_command
from verispec_bench.sweep.cost import Cost, cost_of, measured_speeds
from verispec_bench.sweep.part import PreparedSweep


def describe_plan(sweep: PreparedSweep) -> dict[str, Any]:
    """Cells, blocks, servers, cost and identity; `text` is for people."""
    scenario = sweep.scenario
    cells: dict[str, dict[str, Any]] = {}
    for block in sweep.plan.blocks:
        if block.index < scenario.load.blocks:
            cell = cells.setdefault(block.cell.id, {**block.cell.key(), "requests_per_arm": 0, "order": []})
            cell["requests_per_arm"] += len(block.attempts[0])
            cell["order"] += block.arms
    commands = {
        f"{arm} ({variant.variant})" if len(scenario.variants()) > 1 else arm: server_command(
            variant, arm, sweep.interpreter, port=0
        ).shell_line()
        for variant in scenario.variants()
        for arm in variant.all_arms
    }
    known = measured_speeds(Path("results"), sweep.manifest["identity"])
    cost = cost_of(sweep.plan.blocks, scenario.load.blocks, known, sweep.plan.searches, len(scenario.all_arms))
    return {
        "scenario": scenario.name,
        "identity_sha256": sweep.manifest["identity_sha256"],
        "cells": cells,
        "servers": commands,
        "cost": asdict(cost),
        "text": _text(sweep, cells, commands, cost),
    }


def _text(sweep: PreparedSweep, cells: dict[str, dict[str, Any]], commands: dict[str, str], cost: Cost) -> str:
    width = max(map(len, cells), default=0)
    lines = [f"{sweep.scenario.name}: {sweep.scenario.title}", "", "cells (requests for each arm; order of the runs)"]
    lines += [
        f"  {id_:<{width}}  {cell['requests_per_arm']:>4}  {' '.join(cell['order'])}" for id_, cell in cells.items()
    ]
    load = sweep.scenario.load
    if load.half_width is not None:
        lines += [f"  and up to {load.most_blocks} blocks of prompts in cells not known to ±{load.half_width:.0%}"]
    if load.slo_search:
        probes = load.slo_search.steps * load.slo_search.requests
        lines += [f"  and for each arm {probes} requests to find the highest rate that meets the goodput"]
    lines += ["", _cost_line(cost)]
    lines += ["", "servers (port 0 stands for a free one)"]
    lines += [f"  {arm}: {command}" for arm, command in commands.items()]
    return "\n".join(lines)


def _cost_line(cost: Cost) -> str:
    line = f"cost: {cost.requests} requests, at most {cost.most_tokens} tokens"
    if cost.seconds is None:
        return f"{line}; how long is not known: no sweep of this model and machine tells it"
    return f"{line}; about {cost.seconds / 60:.0f} minutes of load, by arrivals and earlier sweeps"
