"""What is kept of one request: raw times and counts, from which every measure is computed."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class RequestRecord:
    """One request; times are seconds since the start of its run.

    Attributes:
        prompt_id: which prompt of the workload.
        scheduled_s: when it was due; in a closed loop when its slot became free.
        released_s: when the client let it go: as scheduled, or later where it waited for a slot of a limited loop.
        sent_s: when it was sent.
        first_byte_s: first byte of the response body.
        chunk_times_s: arrival of each chunk that carried tokens.
        chunk_tokens: how many each carried; empty if the server does not say (no running usage).
        end_s: the stream's end or the failure.
        streamed: it asked for a stream. Else the answer is one chunk, and when its first token came is not known.
        sent_tokens: length of a prompt that was sent as token ids; None: as text.
        max_tokens: how many it asked for.
        prompt_tokens, completion_tokens: from the server's usage; None if it gave none.
        finish_reason: "stop", "length", …
        error: None, or kind and message: "timeout: …", "http 503: …", "refused: …", "unreachable: …", "reset: …",
            "not http: …", "truncated: …", "stream error: …", "answer error: …", "aborted: …" (by us), "client: …" (this
            side has run out of something).
        text, token_ids: the answer; ids if the server sends them.
        num_spec_steps, num_draft_tokens, num_accepted_tokens: verification rounds with a draft, from the server.
        accepted_per_step, drafted_per_step: the same by round.

    """

    prompt_id: str
    scheduled_s: float
    released_s: float | None = None
    sent_s: float | None = None
    first_byte_s: float | None = None
    chunk_times_s: list[float] = field(default_factory=list)
    chunk_tokens: list[int] = field(default_factory=list)
    end_s: float | None = None
    streamed: bool = True
    sent_tokens: int | None = None
    max_tokens: int | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str | None = None
    error: str | None = None
    text: str = ""
    token_ids: list[int] | None = None
    num_spec_steps: int | None = None
    num_draft_tokens: int | None = None
    num_accepted_tokens: int | None = None
    accepted_per_step: list[int] | None = None
    drafted_per_step: list[int] | None = None

    @property
    def ok(self) -> bool:
        """Completed without a fault."""
        return self.error is None

    @property
    def error_kind(self) -> str | None:
        """What failures are counted by: "timeout", "http 503", …"""
        return None if self.error is None else self.error.partition(":")[0]

    def as_dict(self) -> dict[str, Any]:
        """All fields, as written to requests.jsonl."""
        return asdict(self)
