"""One step of the engine: what it does, and what it took."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Batch:
    """What a step does, but for drafts.

    Attributes:
        requests: that decode.
        kv_tokens: in their KV caches.
        prompt_tokens: of other requests, that are read in the same step.

    """

    requests: int
    kv_tokens: int
    prompt_tokens: int = 0

    @property
    def tokens(self) -> int:
        """Scheduled without drafts."""
        return self.requests + self.prompt_tokens


@dataclass(frozen=True)
class Step:
    """A step as it was measured.

    Attributes:
        batch: what it did.
        drafts: that were verified in it.
        seconds: from the end of the step before to its own end.

    """

    batch: Batch
    drafts: int
    seconds: float
