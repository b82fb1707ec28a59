"""The A/A control: how often does the interval of two equal servers hold the truth, which is 1?"""

from collections.abc import Sequence
from typing import Any

from scipy.stats import beta

from verispec_bench.scenario import CONTROL


def control_coverage(comparisons: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """Over all cells of the control arm with an interval; None without one.

    Returns:
        cells, covered, share with its exact 95% interval (Clopper-Pearson), and the ratio furthest from 1.

    """
    cells = [c for c in comparisons if c["arm"] == CONTROL and c["speedup_low"] is not None and c["valid"]]
    if not cells:
        return None
    covered = sum(c["speedup_low"] <= 1 <= c["speedup_high"] for c in cells)
    n = len(cells)
    return {
        "cells": n,
        "covered": covered,
        "share": covered / n,
        "share_low": float(beta.ppf(0.025, covered, n - covered + 1)) if covered else 0.0,
        "share_high": float(beta.ppf(0.975, covered + 1, n - covered)) if covered < n else 1.0,
        "furthest": max((c["speedup"] for c in cells), key=lambda ratio: abs(ratio - 1)),
    }
