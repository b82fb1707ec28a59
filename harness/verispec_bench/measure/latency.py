"""Latencies of one request. Each is None where it cannot be known, never 0."""

from verispec_bench.client.record import RequestRecord


def ttft_s(record: RequestRecord) -> float | None:
    """Time to first token: from the scheduled send to the first chunk that carries a token."""
    return record.chunk_times_s[0] - record.scheduled_s if record.chunk_times_s else None


def e2el_s(record: RequestRecord) -> float | None:
    """End-to-end latency: from the scheduled send to the last token."""
    return record.chunk_times_s[-1] - record.scheduled_s if record.chunk_times_s else None


def tpot_s(record: RequestRecord) -> float | None:
    """Time per output token: (last − first) / (tokens − tokens in the first chunk); undefined for one chunk."""
    if len(record.chunk_times_s) < 2:
        return None
    return (record.chunk_times_s[-1] - record.chunk_times_s[0]) / sum(record.chunk_tokens[1:])


def itl_s(record: RequestRecord) -> list[float]:
    """Inter-token latencies: each gap between chunks, divided over the tokens that it brought."""
    gaps = zip(record.chunk_times_s, record.chunk_times_s[1:], record.chunk_tokens[1:], strict=False)
    return [(later - earlier) / tokens for earlier, later, tokens in gaps for _ in range(tokens)]
