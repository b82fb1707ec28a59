"""Where has the end of this history occurred before? A match index that grows with the history.

The hash chains of LZ77 compressors: the positions of each n-gram form a linked list, newest first, so that adding a
token costs one dictionary operation and finding a match costs a bounded walk, however long the history is.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Match(NamedTuple):
    """An earlier occurrence of the end of the history.

    Attributes:
        end: position just after the occurrence: the tokens from here on followed it.
        length: how many tokens agree (capped at the index's max_match).

    """

    end: int
    length: int


class MatchIndex:
    """The tokens of one request, indexed by their n-grams.

    Memory is linear in the history: a token, a link and at most one dictionary entry for each position.

    Args:
        min_match: n, the shortest match that is found.
        max_match: where comparing stops; longer matches count as this long.
        max_candidates: how many earlier occurrences are compared, newest first.

    """

    def __init__(self, min_match: int, max_match: int, max_candidates: int) -> None:
        self.min_match = min_match
        self.max_match = max_match
        self.max_candidates = max_candidates
        self.tokens: list[int] = []
        self._newest: dict[tuple[int, ...], int] = {}
        self._older: list[int] = []  # by position: end of the previous occurrence of the n-gram that ends here, or -1

    def __len__(self) -> int:
        return len(self.tokens)

    def extend(self, token_ids: NDArray[np.int32]) -> None:
        """Append tokens, amortised O(1) each."""
        n, tokens, newest, older = self.min_match, self.tokens, self._newest, self._older
        for token in token_ids.tolist():
            tokens.append(token)
            end = len(tokens)
            gram = tuple(tokens[end - n : end]) if end >= n else None
            older.append(newest.get(gram, -1) if gram is not None else -1)
            if gram is not None:
                newest[gram] = end

    def longest_match(self) -> Match | None:
        """The longest earlier occurrence of the end of the history, the newest among equals; None if there is none."""
        tokens, size = self.tokens, len(self.tokens)
        best: Match | None = None
        end = self._older[-1] if size else -1
        for _ in range(self.max_candidates):
            if end < 0:
                break
            length = self.min_match
            limit = min(end, self.max_match)
            while length < limit and tokens[end - 1 - length] == tokens[size - 1 - length]:
                length += 1
            if best is None or length > best.length:
                best = Match(end, length)
                if length >= self.max_match:
                    break
            end = self._older[end - 1]
        return best
