"""How long does a run take? Fitted to runs: what a step costs, and each token in it.

Seconds = a·steps + r·rounds + b·decoded + d·drafts + p·prompt tokens + c·KV tokens, no weight negative: sums over the
run's steps, so that no step needs to be timed by itself. An error of 1% counts alike in short runs and long ones.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

RIDGE = 0.1
"""Weight of the prior that every part is nothing, in runs: what the runs do not tell apart is shared."""


@dataclass(frozen=True)
class Work:
    """What a server did in a run.

    Attributes:
        steps: of the engine.
        rounds: steps that drafted and verified.
        decoded: request-steps that decoded: tokens that were neither a first token nor an accepted draft.
        drafts: drafted tokens in the target's passes.
        prompt_tokens: that were read.
        kv_tokens: in the caches of decoding requests, summed over steps.

    """

    steps: float
    rounds: float
    decoded: float
    drafts: float
    prompt_tokens: float
    kv_tokens: float

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "Work | None":
        """Of a row of cells.csv; None where the server did not count its steps."""
        if not row.get("engine_steps") or row.get("input_len_mean") is None:
            return None
        decoded = row["total_output_tokens"] - row["completed"] - (row.get("accepted_tokens") or 0)
        context = row["input_len_mean"] + row["output_len_mean"] / 2
        return cls(
            steps=row["engine_steps"],
            rounds=row.get("verify_steps") or 0,
            decoded=decoded,
            drafts=row.get("draft_tokens") or 0,
            prompt_tokens=row["total_input_tokens"],
            kv_tokens=decoded * context,
        )

    def __add__(self, other: "Work") -> "Work":
        return Work(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class StepTime:
    """The fitted costs, seconds for one of each."""

    step_s: float
    round_s: float
    decoded_s: float
    draft_s: float
    prompt_token_s: float
    kv_token_s: float

    @classmethod
    def fitted(cls, works: Sequence[Work], seconds: Sequence[float]) -> "StepTime":
        """To runs that took so long."""
        relative = np.array([astuple(work) for work in works]) / np.asarray(seconds)[:, None]
        size = relative.mean(axis=0)
        size[size == 0] = 1.0
        rows = np.vstack([relative / size, RIDGE * np.eye(len(size))])
        weights, _ = nnls(rows, np.concatenate([np.ones(len(works)), np.zeros(len(size))]))
        return cls(*(weights / size).tolist())

    def seconds(self, work: Work) -> float:
        """Of a run."""
        return float(np.dot(astuple(self), astuple(work)))
