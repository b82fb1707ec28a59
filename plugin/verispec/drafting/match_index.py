"""Where has the end of this history occurred before? An index of n-grams that grows with the text.

The hash chains of LZ77 compressors: the positions of each n-gram form a linked list, newest first, so that adding a
token costs one look-up and finding a match a bounded walk, however long the text is. There are chains of short n-grams
and of longer ones: where the text ends with a frequent token, a long match lies far behind the newest short ones.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from verispec.compiled import compiled

SEPARATOR = -1
"""Between texts that do not belong together: no token, so that no match reaches across it."""
LONGER = 4
"""A second chain is of n-grams so much longer."""
MOST_LOOKED_AT = 256
"""Positions of a chain: those of other n-grams with the same hash are among them."""
_FIRST_CAPACITY = 1024

Tokens = NDArray[np.int32]


class Chains(NamedTuple):
    """An index as compiled functions see it.

    Attributes:
        tokens: int32 [capacity], of which the first `size` are the text.
        older: int32 [2, capacity]; older[c, i - 1] is where chain c's n-gram that ends before i ended the time before,
            or 0.
        newest: int32 [2, power of two]; by hash, where such an n-gram ended last, or 0.
        size: tokens in the text.
        n: length of the n-grams of each chain.

    """

    tokens: Tokens
    older: Tokens
    newest: Tokens
    size: int
    n: tuple[int, int]


class MatchIndex:
    """A text, indexed by its n-grams. Memory is linear in it: 20 bytes a token, up to twice that while it grows.

    Args:
        n: length of the n-grams: the shortest match that can be found.

    """

    def __init__(self, n: int) -> None:
        self._n = (n, n + LONGER)
        self._size = 0
        self._make_room(_FIRST_CAPACITY)

    def __len__(self) -> int:
        return self._size

    @property
    def tokens(self) -> Tokens:
        """The text, int32 [size]; a view that is valid until it grows."""
        return self._tokens[: self._size]

    @property
    def chains(self) -> Chains:
        """What compiled functions work on, until the text grows."""
        return Chains(self._tokens, self._older, self._newest, self._size, self._n)

    def extend(self, token_ids: Tokens) -> None:
        """Append tokens, amortised O(1) each."""
        if self._size + len(token_ids) > len(self._tokens):
            self._grow(self._size + len(token_ids))
        _append(self.chains, token_ids)
        self._size += len(token_ids)

    def _grow(self, size: int) -> None:
        """Room for `size` tokens; all hashes change with it."""
        text = self.tokens
        self._make_room(1 << (size - 1).bit_length())
        self._size = 0
        self.extend(text)

    def _make_room(self, capacity: int) -> None:
        self._tokens = np.zeros(capacity, np.int32)
        self._older, self._newest = (np.zeros((len(self._n), capacity), np.int32) for _ in range(2))


@compiled
def _slot(tokens: Tokens, end: int, n: int, slots: int) -> int:
    """Where in `newest` the n-gram that ends before `end` is kept."""
    key = 0
    for position in range(end - n, end):
        key = ((key + tokens[position] + 1) * 0x9E3779B1) & 0xFFFFFFFF
    return (key ^ (key >> 15)) & (slots - 1)


@compiled
def _append(chains: Chains, token_ids: Tokens) -> None:
    end = chains.size
    for token in token_ids:
        chains.tokens[end] = token
        end += 1
        for chain, n in enumerate(chains.n):
            if end >= n:
                slot = _slot(chains.tokens, end, n, chains.newest.shape[1])
                chains.older[chain, end - 1] = chains.newest[chain, slot]
                chains.newest[chain, slot] = end


@compiled
def find_matches(
    chains: Chains, history: Tokens, is_own: bool, max_match: int, max_candidates: int, ends: Tokens, lengths: Tokens
) -> int:
    """Earlier occurrences of the end of a history: of its longer n-gram first, then of the shorter, newest first.

    Args:
        chains: of the text that is searched.
        history: int32 [length].
        is_own: the text is the history itself.
        max_match: where comparing stops; longer matches count as this long.
        max_candidates: how many are looked for.
        ends, lengths: filled with each occurrence's end (the tokens from there on followed it) and length.

    Returns:
        How many were found.

    """
    found, size, found_before = 0, len(history), 1 << 30
    for chain in (1, 0):
        n = chains.n[chain]
        if n > max_match or min(size, chains.size) < n:
            continue
        if is_own:
            end = chains.older[chain, size - 1]
        else:
            end = chains.newest[chain, _slot(history, size, n, chains.newest.shape[1])]
        for _ in range(MOST_LOOKED_AT):
            if end == 0 or found == max_candidates:
                break
            length, limit = 0, min(end, size, max_match)
            while length < limit and chains.tokens[end - 1 - length] == history[size - 1 - length]:
                length += 1
            # Shorter: another n-gram of the same hash. Longer: the other chain has it, or went no further.
            if n <= length < found_before:
                ends[found], lengths[found] = end, length
                found += 1
            end = chains.older[chain, end - 1]
        found_before = n
    return found
