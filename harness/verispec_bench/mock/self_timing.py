"""What the mock measures of itself: a load generator can be judged only by a server that knows its own error."""

from collections import deque
from collections.abc import Sequence

import numpy as np

KEPT = 1_000_000
"""The latest so many values are kept of each kind."""


class SelfTiming:
    """Times of what was really sent, in seconds.

    Counted are the answers that are streamed; a chunk's lateness is the time at which it was written minus the time at
    which it was due.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self.requests = self.chunks = self.tokens = self.failed = 0
        self._ttft: deque[float] = deque(maxlen=KEPT)
        self._tpot: deque[float] = deque(maxlen=KEPT)
        self._lateness: deque[float] = deque(maxlen=KEPT)
        self._loop_lag: deque[float] = deque(maxlen=KEPT)

    def sent(self, num_tokens: int, lateness_s: float) -> None:
        """A chunk was written."""
        self.chunks += 1
        self.tokens += num_tokens
        self._lateness.append(lateness_s)

    def begun(self, ttft_s: float) -> None:
        """A request's first chunk was written so long after the request was read."""
        self.requests += 1
        self._ttft.append(ttft_s)

    def ended(self, tpot_s: float | None) -> None:
        """An answer is whole; None: it had one chunk."""
        if tpot_s is not None:
            self._tpot.append(tpot_s)

    def loop_lagged(self, seconds: float) -> None:
        """The event loop came so late to a timer of its own: as late it may have come to a request that lay there."""
        self._loop_lag.append(seconds)

    def as_dict(self) -> dict[str, float | int | None]:
        """GET /mock/timing: counts, and milliseconds; None where nothing was measured."""
        return {
            "requests": self.requests,
            "failed": self.failed,
            "chunks": self.chunks,
            "tokens": self.tokens,
            "mean_ttft_ms": _mean_ms(self._ttft),
            "p99_ttft_ms": _percentile_ms(self._ttft, 99),
            "mean_tpot_ms": _mean_ms(self._tpot),
            "lateness_p50_ms": _percentile_ms(self._lateness, 50),
            "lateness_p99_ms": _percentile_ms(self._lateness, 99),
            "loop_lag_p99_ms": _percentile_ms(self._loop_lag, 99),
            "loop_lag_max_ms": _percentile_ms(self._loop_lag, 100),
        }


def _mean_ms(seconds: Sequence[float]) -> float | None:
    return 1000 * float(np.mean(seconds)) if seconds else None


def _percentile_ms(seconds: Sequence[float], which: float) -> float | None:
    return 1000 * float(np.percentile(seconds, which)) if seconds else None
