"""The answers to recent requests, to be copied from by those that come; bounded, and apart by tenant."""

from collections import OrderedDict

import numpy as np

from verispec.drafting.match_index import SEPARATOR, MatchIndex, Tokens


class RecentAnswers:
    """Keeps the answers of each tenant in an index of their own, the oldest being forgotten first.

    Memory is at most `max_tenants` × `max_tokens` × 40 bytes.

    Args:
        n: shortest match that can be found.
        max_tokens: kept for each tenant; when they are full, the older half goes. 0: nothing is kept.
        max_tenants: when there are more, the one that asked longest ago is forgotten.

    """

    def __init__(self, n: int, max_tokens: int, max_tenants: int) -> None:
        self._n = n
        self._max_tokens = max_tokens
        self._max_tenants = max_tenants
        self._indices: OrderedDict[str | None, MatchIndex] = OrderedDict()
        self._nothing = MatchIndex(n)

    def of(self, tenant: str | None) -> MatchIndex:
        """What a tenant's requests may copy from; of nobody else's."""
        index = self._indices.get(tenant)
        if index is None:
            return self._nothing
        self._indices.move_to_end(tenant)
        return index

    def add(self, tenant: str | None, answer: Tokens) -> None:
        """Remember the end of an answer, as much as fits into half of the room."""
        room = self._max_tokens // 2 - 1  # a separator follows
        if min(len(answer), room) < self._n:
            return
        answer = answer[-room:]
        index = self._indices.get(tenant)
        if index is None:
            index = self._indices[tenant] = MatchIndex(self._n)
        if len(index) + len(answer) + 1 > self._max_tokens:
            newer_half = index.tokens[-(self._max_tokens // 2) :]
            index = self._indices[tenant] = MatchIndex(self._n)
            index.extend(newer_half)
        index.extend(np.append(answer, np.int32(SEPARATOR)))
        self._indices.move_to_end(tenant)
        while len(self._indices) > self._max_tenants:
            self._indices.popitem(last=False)
