"""The published question over again: what do drafters, and a choice between them, bring on recorded traces?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from verispec_bench.errors import UnusableInput
from verispec_bench.speedmodel.replay.bill import Bill
from verispec_bench.speedmodel.replay.match import match_lengths
from verispec_bench.speedmodel.replay.plan import Plan, Policy, longest, single
from verispec_bench.speedmodel.replay.selector import EDGES, Matched, Selector
from verispec_bench.speedmodel.replay.simulate import identical_batches, mixed_batches
from verispec_bench.speedmodel.replay.trace import Trace

FOLDS = 5
OWN_BILL, ALL_BILLS, BY_MATCH = "longest, its own bill", "longest, all bills", "by match length"
FIXED = ", fixed window"
SERVED = {"identical": identical_batches, "mixed": mixed_batches}
"""How a batch is made up: of copies of one request, as published, or of different ones."""


@dataclass(frozen=True)
class Result:
    """A policy's speedup on a file of traces at a batch size.

    Attributes:
        batches: "identical" or "mixed".
        looks_ahead: it uses what no server could know: an oracle.

    """

    traces: str
    batch: int
    batches: str
    policy: str
    looks_ahead: bool
    speedup: float


def replay(files: Mapping[str, Sequence[Trace]], bill: Bill, batch_sizes: Sequence[int]) -> list[Result]:
    """All policies on all files.

    Oracles: each drafter alone, and the longest step of all, billed for the drafter that is taken, for all of them, and
    for each alone, as released simulators did; their drafts end where they fail. Causal: each drafter with a fixed
    window, and the choice of drafter and window by match length. What these go by is learned from the other files
    (from other requests of the same file if there is one only).

    Args:
        files: traces by the name of their file; all with the same drafters.
        bill: what steps and drafts cost.
        batch_sizes: requests in a batch.

    Raises:
        UnusableInput: a drafter without a price, or files with different drafters.

    """
    names = _drafters(files, bill)
    oracles = _oracles(names)
    matched = _matched(files)
    results = []
    for file, traces in files.items():
        ahead = {policy: [plan(trace) for trace in traces] for policy, plan in oracles.items()}
        for batch in batch_sizes:
            causal = _causal(matched, file, names, bill, batch)
            for kind, served in SERVED.items() if batch > 1 else [("identical", identical_batches)]:
                results += [
                    Result(file, batch, kind, policy, policy in oracles, served(traces, plans, bill, batch))
                    for policy, plans in (ahead | causal).items()
                ]
    return results


def gap_recovered(results: Sequence[Result]) -> float | None:
    """How far the choice by match length gets, as a share of the way to the oracle that pays all drafters in each step.

    The way begins at the best single drafter with a fixed window.

    Args:
        results: of one file, batch size and kind of batch.

    """
    speedups = {result.policy: result.speedup for result in results}
    fixed = [speedup for policy, speedup in speedups.items() if policy.endswith(FIXED)]
    if not fixed or BY_MATCH not in speedups or speedups[ALL_BILLS] <= max(fixed):
        return None
    best = max(fixed)
    return (speedups[BY_MATCH] - best) / (speedups[ALL_BILLS] - best)


def _oracles(names: Sequence[str]) -> dict[str, Policy]:
    oracles = {name: single(name) for name in names}
    if len(names) > 1:
        oracles |= {OWN_BILL: longest("taken"), ALL_BILLS: longest("all")}
        oracles |= {f"longest, {name}'s bill": longest(name) for name in names}
    return oracles


def _matched(files: Mapping[str, Sequence[Trace]]) -> dict[str, list[Matched]]:
    """With match lengths; where a file does not hold its texts, all are 0, and nothing can be chosen by them."""
    return {
        file: [
            (trace, np.zeros(trace.tokens, dtype=np.int64) if trace.text is None else match_lengths(trace))
            for trace in traces
        ]
        for file, traces in files.items()
    }


def _causal(
    matched: Mapping[str, list[Matched]], file: str, names: Sequence[str], bill: Bill, batch: int
) -> dict[str, list[Plan]]:
    """Plans of a file's traces, by selectors that have learned from none of them."""
    others = [pair for name, pairs in matched.items() if name != file for pair in pairs]
    folds = 1 if others else min(FOLDS, len(matched[file]))
    if not others and folds < 2:
        return {}
    asked: dict[str, tuple[list[str], tuple[int, ...]]] = {f"{name}{FIXED}": ([name], ()) for name in names}
    if len(names) > 1 and all(trace.text is not None for pairs in matched.values() for trace, _ in pairs):
        asked[BY_MATCH] = (list(names), EDGES)
    known = [
        others or [pair for index, pair in enumerate(matched[file]) if index % folds != fold] for fold in range(folds)
    ]
    plans = {}
    for policy, (drafters, edges) in asked.items():
        selectors = [Selector.learned(pairs, drafters, bill, batch, edges) for pairs in known]
        plans[policy] = [selectors[index % folds].plan(*pair) for index, pair in enumerate(matched[file])]
    return plans


def _drafters(files: Mapping[str, Sequence[Trace]], bill: Bill) -> list[str]:
    first, *others = files
    names = list(files[first][0].step_lengths)
    for other in others:
        if set(files[other][0].step_lengths) != set(names):
            raise UnusableInput(f"{first} and {other} have different drafters: replay them apart")
    if unpriced := [name for name in names if name not in bill.drafters]:
        raise UnusableInput(
            f"no price for drafter {unpriced[0]}: the bill knows {', '.join(bill.drafters)}; add it to a --bill"
        )
    return names
