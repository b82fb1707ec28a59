"""Latencies of one request. Each is None where it cannot be known, never 0."""

from verispec_bench.client.record import RequestRecord


def ttft_s(record: RequestRecord) -> float | None:
    """Time to first token: from the scheduled send to the first chunk that carries a token."""
    return record.chunk_times_s[0] - record.scheduled_s if record.chunk_times_s else None


def e2el_s(record: RequestRecord) -> float | None:
    """End-to-end latency: from the scheduled send to the last token."""
    return record.chunk_times_s[-1] - record.scheduled_s if record.chunk_times_s else None


def tpot_s(record: RequestRecord) -> float | None:
    """Time per output token: (last − first) / (tokens − tokens in the first chunk); undefined for one chunk.

    Where the server does not say what a chunk carries, the first is taken to carry one token.
    """
    if len(record.chunk_times_s) < 2:
        return None
    later = sum(record.chunk_tokens[1:]) if record.chunk_tokens else (record.completion_tokens or 0) - 1
    return (record.chunk_times_s[-1] - record.chunk_times_s[0]) / later if later > 0 else None


def itl_s(record: RequestRecord) -> list[float]:
    """Inter-token latencies: each gap between chunks, divided over the tokens that it brought; none if unknown."""
    gaps = zip(record.chunk_times_s, record.chunk_times_s[1:], record.chunk_tokens[1:], strict=False)
    return [(later - earlier) / tokens for earlier, later, tokens in gaps for _ in range(tokens)]
