"""What drafting costs: `make bench`.

Microseconds for each drafted token, and for a step's choice of how many to submit. Histories of 2,000 tokens that
repeat some of themselves, one token more in each step; no model, no server.
"""

import json
import sys
import time
from typing import Any

import numpy as np

from verispec.control import Batch, Step, make_controller
from verispec.drafting import DraftRequest, make_drafter
from verispec.settings import ControlSettings

BATCHES, LENGTH, STEPS, WINDOW = (1, 16, 64), 2000, 60, 16
DRAFTERS: dict[str, dict[str, Any]] = {
    "suffix": {},
    "stochastic-suffix": {},
    "ngram": {},
    "combined": {"members": {"suffix": {}, "ngram": {}}},
}


def histories(count: int) -> list[np.ndarray]:
    """Random tokens that come again and again: there is always something to copy."""
    random = np.random.default_rng(0)
    repeated = [random.integers(0, 30_000, LENGTH // 4).astype(np.int32) for _ in range(count)]
    return [np.resize(tokens, LENGTH + STEPS) for tokens in repeated]


def measure(name: str, batch: int) -> dict[str, Any]:
    """A row of the table."""
    drafter, texts = make_drafter(name, DRAFTERS[name]), histories(batch)
    controller = make_controller(ControlSettings())
    drafted, drafting, choosing = 0, 0.0, 0.0
    for step in range(STEPS):
        requests = [DraftRequest(str(i), text[: LENGTH + step], WINDOW, 0.8) for i, text in enumerate(texts)]
        began = time.perf_counter()
        proposals = drafter.propose(requests)
        middle = time.perf_counter()
        lengths = controller.choose(requests, proposals, [], LENGTH * batch)
        tokens = batch + sum(lengths)
        committed = {r.request_id: [int(text[LENGTH + step])] for r, text in zip(requests, texts, strict=True)}
        controller.step_ended(committed, Step(Batch(batch, LENGTH * batch), sum(lengths), 0.02 + 2e-4 * tokens))
        if step >= STEPS // 3:  # the histories are indexed, and costs are known
            drafted += sum(len(proposal.token_ids) for proposal in proposals)
            drafting += middle - began
            choosing += time.perf_counter() - middle
    steps = STEPS - STEPS // 3
    return {
        "drafter": name,
        "batch": batch,
        "drafted_per_step": drafted / steps,
        "us_per_drafted_token": 1e6 * drafting / drafted,
        "us_per_step_drafting": 1e6 * drafting / steps,
        "us_per_step_choosing": 1e6 * choosing / steps,
    }


def main() -> None:
    """The table, as text or as JSON lines."""
    rows = [measure(name, batch) for name in DRAFTERS for batch in BATCHES]
    if "--json" in sys.argv:
        for row in rows:
            print(json.dumps(row))
        return
    print(f"drafting from histories of {LENGTH} tokens, window {WINDOW}")
    print(f"{'drafter':<20}{'batch':>6}{'drafted':>9}{'µs/token':>10}{'µs/step':>10}{'choice µs/step':>16}")
    for row in rows:
        print(
            f"{row['drafter']:<20}{row['batch']:>6}{row['drafted_per_step']:>9.0f}{row['us_per_drafted_token']:>10.2f}"
            f"{row['us_per_step_drafting']:>10.0f}{row['us_per_step_choosing']:>16.0f}"
        )


if __name__ == "__main__":
    main()
