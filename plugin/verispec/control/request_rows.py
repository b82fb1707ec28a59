"""Numbers that are kept for each request, a row for each, so that a step's requests are worked on together."""

from collections.abc import Collection, Iterable

import numpy as np
from numpy.typing import NDArray


class RequestRows:
    """A table with a row for every request that is known. Rows of those that have ended are used again.

    Args:
        columns: numbers of each request; they begin at 0.

    Attributes:
        values: float64 [capacity, columns]; it is replaced when it grows.

    """

    def __init__(self, columns: int) -> None:
        self.values = np.zeros((16, columns))
        self._row_of: dict[str, int] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self._row_of)

    def of(self, request_ids: Iterable[str]) -> NDArray[np.int64]:
        """Rows of these requests, int64 [requests]; new ones get theirs."""
        rows = [self._row(request_id) for request_id in request_ids]
        return np.array(rows, dtype=np.int64)

    def _row(self, request_id: str) -> int:
        row = self._row_of.get(request_id)
        if row is None:
            row = self._free.pop() if self._free else len(self._row_of)
            if row == len(self.values):
                self.values = np.concatenate([self.values, np.zeros_like(self.values)])
            self._row_of[request_id] = row
            self.values[row] = 0
        return row

    def forget(self, request_ids: Collection[str]) -> None:
        """Requests have ended."""
        for request_id in request_ids:
            row = self._row_of.pop(request_id, None)
            if row is not None:
                self._free.append(row)
