"""Target-only decoding as the answer to every fault: drafting stops, for a while or until it is turned on again.

The rule is never loosened and the server never ends: without drafts each step is an ordinary one.
"""

import logging
import math
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from time import monotonic
from typing import Any

logger = logging.getLogger("vllm.verispec")


class Reason(StrEnum):
    """Why the server decodes without drafts."""

    LOAD_FAILED = "load-failed"
    RAISED = "raised"
    STALLED = "stalled"
    INVALID_OUTPUT = "invalid-output"
    RULE_CHECK = "rule-check"
    ACCEPTANCE_COLLAPSE = "acceptance-collapse"
    MEMORY_PRESSURE = "memory-pressure"
    SWITCHED_OFF = "switched-off"


UNTIL_SWITCHED_ON = (Reason.LOAD_FAILED, Reason.SWITCHED_OFF)
"""Reasons that no time heals."""


class Fallback:
    """Whether this process may draft.

    Args:
        cooldown_s: how long a fault keeps the server target-only.
        clock: seconds, never going back.

    """

    def __init__(self, cooldown_s: float, clock: Callable[[], float] = monotonic) -> None:
        self._cooldown_s = cooldown_s
        self._clock = clock
        self._since = 0.0
        self._until = -math.inf
        self._ended_s = 0.0
        self.reason: Reason | None = None
        self.trips: Counter[Reason] = Counter()

    def trip(self, reason: Reason, detail: str = "") -> None:
        """A fault: stop drafting, or stay stopped for longer. Counted and logged is what changes something."""
        drafting, now = self.drafting, self._clock()
        until = math.inf if reason in UNTIL_SWITCHED_ON else now + self._cooldown_s
        if drafting:
            self._since = now
        if drafting or self._until < until == math.inf:
            length = "until it is switched on" if math.isinf(until) else f"for {self._cooldown_s:g} s"
            logger.warning(
                "verispec: decoding without drafts %s: %s%s", length, reason, f": {detail}" if detail else ""
            )
            self.reason = reason
            self.trips[reason] += 1
        self._until = max(self._until, until)

    def switch(self, on: bool) -> None:
        """Stop drafting until further notice, or start again whatever has happened."""
        if not on:
            self.trip(Reason.SWITCHED_OFF)
        elif not self.drafting:
            self._resume("switched on")

    @property
    def drafting(self) -> bool:
        """Drafts may be made now; a cool-down that is over ends here."""
        if self.reason is not None and self._clock() >= self._until:
            self._resume("the cool-down is over")
        return self.reason is None

    def _resume(self, why: str) -> None:
        logger.warning("verispec: drafting again: %s", why)
        self._ended_s += self._clock() - self._since
        self.reason, self._until = None, -math.inf

    @property
    def target_only_s(self) -> float:
        """Seconds without drafting so far."""
        return self._ended_s + (0.0 if self.drafting else self._clock() - self._since)

    def status(self) -> dict[str, Any]:
        """State, reason, seconds until drafting is tried again (null: only if it is switched on), and counts."""
        drafting = self.drafting
        waiting = not drafting and math.isfinite(self._until)
        return {
            "drafting": drafting,
            "reason": self.reason,
            "resumes_in_s": self._until - self._clock() if waiting else None,
            "target_only_s": self.target_only_s,
            "trips": {reason.value: self.trips[reason] for reason in Reason},
        }
