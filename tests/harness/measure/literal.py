"""Runs written down: requests, counters and samples, from which metrics are worked out by hand."""

from verispec_bench.client.record import RequestRecord
from verispec_bench.measure import RunData, ServerSample, ServerWindow


def request(times=(), tokens=(), end=None, **fields) -> RequestRecord:
    """Chunks at `times` (seconds) with so many tokens each; scheduled, released and sent at 0 unless told otherwise."""
    fields = {"completion_tokens": sum(tokens), "released_s": 0.0, "sent_s": 0.0, "scheduled_s": 0.0} | fields
    end = end if end is not None else (times[-1] if times else 0.0)
    return RequestRecord("p", chunk_times_s=list(times), chunk_tokens=list(tokens), end_s=end, **fields)


def speculated(tokens, chunks, rounds, **fields) -> RequestRecord:
    """An answer in equal chunks 0.1 s apart; `rounds` are (drafts kept, drafts made)."""
    return request(
        times=[0.1 * (i + 1) for i in range(chunks)],
        tokens=[tokens // chunks] * chunks,
        completion_tokens=tokens,
        num_spec_steps=len(rounds),
        num_accepted_tokens=sum(kept for kept, _ in rounds),
        num_draft_tokens=sum(made for _, made in rounds),
        accepted_per_step=[kept for kept, _ in rounds],
        drafted_per_step=[made for _, made in rounds],
        **fields,
    )


def run(*records, **observed) -> RunData:
    """One run of these requests."""
    return RunData((list(records),), **observed)


def counted(*records, **gains) -> RunData:
    """A run over which the server's counters gained so much."""
    return run(*records, server=ServerWindow({name.replace("__", "."): value for name, value in gains.items()}))


def sampled(*samples, **window) -> RunData:
    """A run without requests in which the server was looked at: (steady, running, waiting, kv_cache_usage)."""
    looks = tuple(ServerSample(float(at), 4, *sample) for at, sample in enumerate(samples))
    return run(server=ServerWindow(samples=looks, **window))
