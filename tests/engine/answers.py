"""What came back for a request, and whether it is what a target-only engine gave, field by field."""

from dataclasses import dataclass, field
from math import inf

EXACT = ("token_ids", "text", "finish_reason", "stop_reason")
"""What no rounding excuses."""


@dataclass
class Answer:
    """What came back for a request, put together from its chunks.

    Attributes:
        chunks: token ids and text of each output that was not empty.
        counted: generated tokens by the server's own statistics.

    """

    token_ids: list[int] = field(default_factory=list)
    text: str = ""
    logprobs: list[dict[int, float]] | None = None
    prompt_logprobs: list[dict[int, float]] | None = None
    finish_reason: str | None = None
    stop_reason: int | str | None = None
    counted: int | None = None
    cached: int = 0
    chunks: list[tuple[list[int], str]] = field(default_factory=list)


def differing_fields(answer: Answer, reference: Answer, tolerance: float) -> list[str]:
    """Names of the fields in which an answer differs from the reference, logprobs by more than the tolerance."""
    fields = [name for name in EXACT if getattr(answer, name) != getattr(reference, name)]
    for name in ("logprobs", "prompt_logprobs"):
        if distance(getattr(answer, name), getattr(reference, name)) > tolerance:
            fields.append(name)
    if streamed_otherwise(answer, reference):
        fields.append("streamed text")
    return fields


def streamed(answer: Answer) -> dict[int, str]:
    """What a client had read, by the number of tokens that it had got."""
    read, tokens, text = {}, 0, ""
    for token_ids, more in answer.chunks:
        tokens, text = tokens + len(token_ids), text + more
        read[tokens] = text
    return read


def streamed_otherwise(answer: Answer, reference: Answer) -> bool:
    """After some number of tokens a client had read another text."""
    read, expected = streamed(answer), streamed(reference)
    return any(read[tokens] != expected[tokens] for tokens in read.keys() & expected.keys())


def distance(rows: list[dict[int, float]] | None, others: list[dict[int, float]] | None) -> float:
    """Largest difference of two logprobs of one token at one position; infinite if one has none where the other has.

    Tokens that only one of two top lists holds count by how far they are from the other's last.
    """
    if rows is None or others is None or len(rows) != len(others):
        return 0.0 if rows == others else inf
    return max((_row_distance(row, other) for row, other in zip(rows, others, strict=True)), default=0.0)


def _row_distance(row: dict[int, float], other: dict[int, float]) -> float:
    if len(row) != len(other):
        return inf
    least, other_least = min(row.values()), min(other.values())
    pairs = [(row.get(token, least), other.get(token, other_least)) for token in row.keys() | other.keys()]
    return max(0.0 if a == b else abs(a - b) for a, b in pairs)
