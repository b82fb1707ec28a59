"""The numerical envelope: how far the same prefix's gaps lie apart in differently shaped passes of one server.

Compared is, at each position, the difference of two logprobs: between the two likeliest tokens of target-only's decode
step. Normalisation cancels in it, and it is what decides which of them is chosen. One server computes it twice for the
same prefix: in the step that made the token (one row for each request, keys and values from earlier steps) and in one
pass over the whole text. The envelope is the largest change seen, over thousands of positions; positions where some
answer diverged are left out, so that no difference is judged by itself.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from verispec_bench.exactness.parity.answer import Row


@dataclass(frozen=True)
class Envelope:
    """Changes of the gap in nats.

    Attributes:
        positions: how many were compared.
        unknown: positions where a pass did not give both tokens' logprobs.
        median, p99, maximum: of the changes; None without positions.

    """

    positions: int
    unknown: int
    median: float | None
    p99: float | None
    maximum: float | None

    @classmethod
    def of(cls, changes: Iterable[float | None]) -> "Envelope":
        """The statistics of some changes; None is an unknown one."""
        every = list(changes)
        known = np.array([change for change in every if change is not None])
        if not len(known):
            return cls(0, len(every), None, None, None)
        median, p99 = np.quantile(known, [0.5, 0.99])
        return cls(len(known), len(every) - len(known), float(median), float(p99), float(known.max()))

    def covers(self, gap: float | None) -> bool:
        """This gap is known, and no larger than the largest change."""
        return gap is not None and self.maximum is not None and abs(gap) <= self.maximum


def gap(row: Row, first: int, second: int) -> float | None:
    """logprob(first) − logprob(second); None if the row does not give both."""
    logprobs = {token: logprob for token, logprob, _ in row}
    return logprobs[first] - logprobs[second] if first in logprobs and second in logprobs else None


def likeliest_two(row: Row) -> tuple[int, int]:
    """The ids of a row's two likeliest tokens."""
    first, second = sorted(row, key=lambda entry: -entry[1])[:2]
    return first[0], second[0]


def changes(
    contested: Sequence[Row], rows: Sequence[Row], passes: Sequence[Row], skip: Collection[int] = ()
) -> list[float | None]:
    """At each position, how far the gap lies apart in a step's row and in a pass.

    Args:
        contested: target-only's rows; their two likeliest tokens are the ones compared.
        rows: of a server's own steps; the comparison ends where they end.
        passes: of target-only's pass over the same tokens.
        skip: positions that are left out.

    """
    found: list[float | None] = []
    for position, (own, row, other) in enumerate(zip(contested, rows, passes, strict=False)):
        if position not in skip:
            step, whole = gap(row, *likeliest_two(own)), gap(other, *likeliest_two(own))
            found.append(None if step is None or whole is None else abs(step - whole))
    return found
