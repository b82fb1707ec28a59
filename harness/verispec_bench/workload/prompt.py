"""One prompt."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Message:
    """One message of a chat; the role is "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass(frozen=True)
class Prompt:
    """What one request asks.

    Attributes:
        id: stable name within its source.
        text: the user's message, or the text that is to be continued.
        history: the earlier messages of a chat, oldest first.
        token_ids: sent instead of the text, to /v1/completions: a prompt of exactly this length.
        output_len: most tokens of its answer; None: the load's own.
        at_s: when a recorded trace has it, in seconds after the trace's first request.
        input_len: the text is cut to this many tokens before it is sent; None: sent whole, or cut to the cell's length.

    """

    id: str
    text: str = ""
    history: tuple[Message, ...] = ()
    token_ids: tuple[int, ...] = ()
    output_len: int | None = None
    input_len: int | None = None
    at_s: float | None = None
