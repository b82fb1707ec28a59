"""How long does a run take? Fitted to runs: what a step costs, and each token in it.

Seconds = a·steps + r·rounds + b·decoded + d·drafts + p·prompt tokens + c·KV tokens + Σ s·min(decoded, k·steps), no
weight negative: sums over the run's steps, so that no step needs to be timed by itself. The last are a step's first k
requests: in a full batch one more costs less. An error of 1% counts alike in short runs and long ones.

A machine that is slow for a while makes all servers of a block slow, which says nothing of what a token costs. Runs of
one block are therefore weighed by how they differ (generalised least squares, a variance component for the block).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Floats = NDArray[np.float64]
RIDGE = 0.03
"""Weight of the prior that every part is nothing, in runs: what the runs do not tell apart is shared."""
SMALL_BATCHES = (2, 8, 16)
"""Where the cost of one more decoding request may fall."""
IN_COMMON = 0.5
"""How much of what a block's runs have in common is left out: 1 − √(own / (own + runs · common)) of the variances."""


@dataclass(frozen=True)
class Work:
    """What a server did in a run.

    Attributes:
        steps: of the engine.
        rounds: steps that drafted and verified.
        decoded: request-steps that decoded.
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
        if not row.get("engine_steps") or row.get("input_len_mean") is None or not row.get("tokens_per_step"):
            return None
        # A request's first token comes from the step that read its prompt.
        decoded = row["total_output_tokens"] / row["tokens_per_step"] - row["completed"]
        context = row["input_len_mean"] + row["output_len_mean"] / 2
        return cls(
            steps=row["engine_steps"],
            rounds=row.get("verify_steps") or 0,
            decoded=decoded,
            drafts=row.get("draft_tokens") or 0,
            prompt_tokens=row["total_input_tokens"],
            kv_tokens=decoded * context,
        )

    def parts(self) -> tuple[float, ...]:
        """What each weight of a StepTime is multiplied by."""
        return *astuple(self), *(min(self.decoded, size * self.steps) for size in SMALL_BATCHES)

    def __add__(self, other: "Work") -> "Work":
        return Work(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True)
class StepTime:
    """The fitted costs, seconds for one of each.

    Attributes:
        small_batch_s: what a decoding request costs more if it is among the first SMALL_BATCHES of its step.

    """

    step_s: float
    round_s: float
    decoded_s: float
    draft_s: float
    prompt_token_s: float
    kv_token_s: float
    small_batch_s: tuple[float, ...] = (0.0,) * len(SMALL_BATCHES)

    @classmethod
    def fitted(cls, works: Sequence[Work], seconds: Sequence[float], blocks: Sequence[Hashable]) -> "StepTime":
        """To runs that took so long, and in which block each was made."""
        relative = np.array([work.parts() for work in works]) / np.asarray(seconds)[:, None]
        size = relative.mean(axis=0)
        size[size == 0] = 1.0
        rows, ones = _apart(relative / size, blocks), _apart(np.ones((len(works), 1)), blocks)[:, 0]
        weights, _ = nnls(np.vstack([rows, RIDGE * np.eye(len(size))]), np.concatenate([ones, np.zeros(len(size))]))
        step_s, round_s, decoded_s, draft_s, prompt_token_s, kv_token_s, *small_batch_s = (weights / size).tolist()
        return cls(step_s, round_s, decoded_s, draft_s, prompt_token_s, kv_token_s, tuple(small_batch_s))

    def seconds(self, work: Work) -> float:
        """Of a run."""
        *costs, small = astuple(self)
        return float(np.dot([*costs, *small], work.parts()))

    def decoding_s(self, works: Sequence[Work]) -> float:
        """What the decoding requests of runs took, but for their steps."""
        small = [float(np.dot(self.small_batch_s, work.parts()[-len(SMALL_BATCHES) :])) for work in works]
        return sum(small) + self.decoded_s * sum(work.decoded for work in works)


def _apart(rows: Floats, blocks: Sequence[Hashable]) -> Floats:
    """[runs, parts]: less IN_COMMON of each block's mean."""
    means = {block: rows[[other == block for other in blocks]].mean(axis=0) for block in set(blocks)}
    return rows - IN_COMMON * np.array([means[block] for block in blocks])
