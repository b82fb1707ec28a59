"""Was the clock set, or did the machine sleep, during a run?"""

import time
from collections.abc import Callable

MAX_JUMP_S = 0.5
"""A run over which the clocks part further than this is no measurement."""


class ClockWatch:
    """Holds the wall clock against the monotonic clock since its creation."""

    def __init__(self, wall: Callable[[], float] = time.time, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._wall, self._monotonic = wall, monotonic
        self._offset = wall() - monotonic()

    def jump_s(self) -> float:
        """Seconds that the wall clock gained on the monotonic one; negative: lost."""
        return self._wall() - self._monotonic() - self._offset
