"""One prompt."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Prompt:
    """What one request asks.

    Attributes:
        id: stable name within its source.
        text: the user's message.

    """

    id: str
    text: str
