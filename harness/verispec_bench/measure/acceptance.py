"""How much of what was drafted was kept. Counts are pooled before dividing; None where nothing was drafted."""

from collections import Counter
from collections.abc import Iterable, Sequence

from verispec_bench.client.record import RequestRecord


def decode_steps(record: RequestRecord) -> int:
    """Target passes that produced this request's tokens, the prompt's included.

    Two lower bounds, the larger of which is taken: the chunks that were streamed (several steps may share one under
    load), and tokens − accepted drafts (drafts that were accepted past a stop are counted by vLLM, and not emitted).
    """
    return max(len(record.chunk_tokens), (record.completion_tokens or 0) - (record.num_accepted_tokens or 0))


def tokens_per_step(records: Sequence[RequestRecord]) -> float | None:
    """Output tokens / decode steps, steps without a draft included: 1 for a server that does not speculate."""
    steps = sum(decode_steps(record) for record in records)
    return sum(record.completion_tokens or 0 for record in records) / steps if steps else None


def acceptance_length(records: Sequence[RequestRecord]) -> float | None:
    """1 + accepted drafts / rounds: tokens that a round commits, rounds without a draft left out (as vLLM)."""
    rounds = sum(record.num_spec_steps or 0 for record in records)
    return 1 + sum(record.num_accepted_tokens or 0 for record in records) / rounds if rounds else None


def acceptance_rate(records: Sequence[RequestRecord]) -> float | None:
    """Accepted / drafted, a fraction."""
    drafted = sum(record.num_draft_tokens or 0 for record in records)
    return sum(record.num_accepted_tokens or 0 for record in records) / drafted if drafted else None


def accepted_per_round(records: Iterable[RequestRecord]) -> dict[int, int]:
    """Histogram: how many rounds kept 0, 1, 2, … drafts."""
    counts = Counter(kept for record in records for kept in record.accepted_per_step or [])
    return {kept: counts[kept] for kept in range(max(counts) + 1)} if counts else {}


def per_position_rates(records: Iterable[RequestRecord]) -> list[float] | None:
    """Unconditional: of all rounds, the fraction that kept the draft at position 1, 2, …"""
    histogram = accepted_per_round(records)
    rounds = sum(histogram.values())
    if not rounds:
        return None
    return [
        sum(n for kept, n in histogram.items() if kept >= position) / rounds for position in range(1, len(histogram))
    ]
