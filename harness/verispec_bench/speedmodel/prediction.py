"""Predicted against measured: each cell by a model that was fitted to all others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from verispec_bench.speedmodel.step_time import StepTime, Work

LEAST_CELLS = 3
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Run:
    """What a server did, in how many seconds, the tokens of its answers, and the drafts that were rejected."""

    work: Work
    seconds: float
    tokens: float
    rejected: float

    def __add__(self, other: "Run") -> "Run":
        return Run(*(mine + theirs for mine, theirs in zip(self._sums, other._sums, strict=True)))

    @property
    def _sums(self) -> tuple[Any, ...]:
        return self.work, self.seconds, self.tokens, self.rejected


def predict(
    blocks: Mapping[str, Sequence[Mapping[str, Row]]],
    arm: str,
    baseline: str,
    intervals: Mapping[str, tuple[float, float]],
) -> list[dict[str, Any]]:
    """Step times and speedup of an arm in each cell, held out in its turn.

    What is predicted from: how many steps each server made, and what was in them. Acceptance is thus as measured, time
    is not. Beside it stands an oracle: the speedup as measured, had no draft been verified that was then rejected, by
    the cost of a draft that the other cells show. (Rounds in which all were rejected would be saved as a whole, and
    drafts that were held back might have been kept: it is an estimate, no bound.)

    Args:
        blocks: of each closed-loop cell, the rows of cells.csv by arm.
        arm, baseline: who is compared.
        intervals: of each cell, that of the measured speedup.

    Returns:
        One entry for each cell; none where there are too few cells, or a server did not count its steps.

    """
    runs = {
        cell: tuple(_runs([block[name] for block in rows]) for name in (baseline, arm)) for cell, rows in blocks.items()
    }
    runs = {cell: both for cell, both in runs.items() if all(both)}
    if len(runs) < LEAST_CELLS:
        return []
    found = []
    for cell, both in runs.items():
        others = [
            (run, (other, block))
            for other, known in runs.items()
            if other != cell
            for of_arm in known
            for block, run in enumerate(of_arm)
        ]
        model = StepTime.fitted(
            [run.work for run, _ in others], [run.seconds for run, _ in others], [block for _, block in others]
        )
        base, ours = (reduce(add, of_arm) for of_arm in both)
        base_s, ours_s = model.seconds(base.work), model.seconds(ours.work)
        base_rate, useful_s = base.tokens / base.seconds, ours.seconds - model.draft_s * ours.rejected
        found.append(
            {
                "cell": cell,
                "arm": arm,
                "baseline": baseline,
                "step_ms": 1000 * ours.seconds / ours.work.steps,
                "step_ms_predicted": 1000 * ours_s / ours.work.steps,
                "baseline_step_ms": 1000 * base.seconds / base.work.steps,
                "baseline_step_ms_predicted": 1000 * base_s / base.work.steps,
                "speedup": ours.tokens / ours.seconds / base_rate,
                "speedup_low": intervals[cell][0],
                "speedup_high": intervals[cell][1],
                "speedup_predicted": ours.tokens / ours_s / (base.tokens / base_s),
                "speedup_oracle": ours.tokens / useful_s / base_rate if useful_s > 0 else None,
            }
        )
    return found


def errors(predictions: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """How far off they are.

    Relative errors of step times, median and p95; how many speedups lie within 5%, and how many in the interval of the
    measured one: what lies in there cannot be told from right.
    """
    if not predictions:
        return None
    steps = [abs(p[f"{key}_predicted"] / p[key] - 1) for p in predictions for key in ("step_ms", "baseline_step_ms")]
    off = [abs(p["speedup_predicted"] / p["speedup"] - 1) for p in predictions]
    within = [p["speedup_low"] <= p["speedup_predicted"] <= p["speedup_high"] for p in predictions]
    return {
        "cells": len(predictions),
        "step_error_median": float(np.median(steps)),
        "step_error_p95": float(np.percentile(steps, 95)),
        "speedup_error_median": float(np.median(off)),
        "speedup_within_5_percent": sum(error <= 0.05 for error in off),
        "speedup_within_interval": sum(within),
    }


def _runs(rows: Sequence[Row]) -> list[Run]:
    """Empty where a run does not tell its steps."""
    works = [Work.of(row) for row in rows]
    if any(work is None for work in works):
        return []
    return [
        Run(
            work, float(row["duration"]), float(row["total_output_tokens"]), work.drafts - (row["accepted_tokens"] or 0)
        )
        for work, row in zip(works, rows, strict=True)
        if work
    ]
