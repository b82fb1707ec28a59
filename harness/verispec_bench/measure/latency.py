"""Latencies of one request, and their distributions. Each is None where it cannot be known, never 0."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from verispec_bench.client.record import RequestRecord
from verispec_bench.measure.metric import Distribution, MissingError, Source

if TYPE_CHECKING:
    from verispec_bench.measure.run import RunData


def ttft_s(record: RequestRecord) -> float | None:
    """Time to first token: from the scheduled send to the first chunk with a token; unknown without a stream."""
    return record.chunk_times_s[0] - record.scheduled_s if record.streamed and record.chunk_times_s else None


def e2el_s(record: RequestRecord) -> float | None:
    """End-to-end latency: from the scheduled send to the last token."""
    return record.chunk_times_s[-1] - record.scheduled_s if record.chunk_times_s else None


def tpot_s(record: RequestRecord) -> float | None:
    """Time per output token: (last − first) / (tokens − tokens in the first chunk); undefined for one chunk.

    Where the server does not say what a chunk carries, the first is taken to carry one token.
    """
    later = tokens_after_the_first_chunk(record)
    return (record.chunk_times_s[-1] - record.chunk_times_s[0]) / later if later else None


def tokens_after_the_first_chunk(record: RequestRecord) -> int | None:
    """0 for an answer in one piece; None if the server gave no counts."""
    if len(record.chunk_times_s) < 2:
        return 0
    if record.chunk_tokens:
        return sum(record.chunk_tokens[1:])
    return None if record.completion_tokens is None else max(0, record.completion_tokens - 1)


def itl_s(record: RequestRecord) -> list[float]:
    """Inter-token latencies: each gap between chunks, divided over the tokens that it brought; none if unknown."""
    gaps = zip(record.chunk_times_s, record.chunk_times_s[1:], record.chunk_tokens[1:], strict=False)
    return [(later - earlier) / tokens for earlier, later, tokens in gaps for _ in range(tokens)]


def icl_s(record: RequestRecord) -> list[float]:
    """Inter-chunk latencies: what a reader of the stream waits from one piece to the next."""
    return [later - earlier for earlier, later in pairwise(record.chunk_times_s)]


def queue_s(record: RequestRecord) -> float | None:
    """Time in the client's own queue: from scheduled to released."""
    return None if record.released_s is None else record.released_s - record.scheduled_s


def send_lag_s(record: RequestRecord) -> float | None:
    """From released to sent: the client's own lateness, an error of the measurement."""
    if record.sent_s is None or record.released_s is None:
        return None
    return record.sent_s - record.released_s


def _each(of: Callable[[RequestRecord], float | None]) -> Callable[["RunData"], list[list[float]]]:
    """One observation in milliseconds for each completed request that has one."""

    def observations(run: "RunData") -> list[list[float]]:
        return [[1000 * seconds] for record in run.done if (seconds := of(record)) is not None]

    return observations


def _gaps(of: Callable[[RequestRecord], Sequence[float]]) -> Callable[["RunData"], list[list[float]]]:
    """All observations in milliseconds of each completed request."""

    def observations(run: "RunData") -> list[list[float]]:
        return [[1000 * seconds for seconds in of(record)] for record in run.done]

    return observations


def _tpot(run: "RunData") -> list[list[float]]:
    if any(tokens_after_the_first_chunk(record) is None for record in run.done):
        raise MissingError("tokens of each answer")
    return _each(tpot_s)(run)


def _itl(run: "RunData") -> list[list[float]]:
    if any(len(record.chunk_times_s) > 1 and not record.chunk_tokens for record in run.done):
        raise MissingError("tokens of each chunk")
    return _gaps(itl_s)(run)


def _distribution(
    name: str, formula: str, needs: tuple[Source, ...], compute: Callable[["RunData"], list[list[float]]]
) -> Distribution:
    return Distribution(name, "ms", "lower", formula, needs, compute)


METRICS = (
    _distribution(
        "ttft",
        "Time to first token: arrival of the first chunk that carries a token − scheduled time.",
        ("requests",),
        _each(ttft_s),
    ),
    _distribution(
        "tpot",
        "Time per output token of a request: (last chunk − first chunk) / (tokens − tokens in the first chunk), which "
        "is taken to be one where the server does not say; answers in one piece have none.",
        ("usage",),
        _tpot,
    ),
    _distribution(
        "itl",
        "Inter-token latency: each gap between chunks, divided evenly over the tokens that it brought.",
        ("chunks",),
        _itl,
    ),
    _distribution("icl", "Inter-chunk latency: each gap between chunks.", ("requests",), _gaps(icl_s)),
    _distribution(
        "e2el", "End-to-end latency: arrival of the last token − scheduled time.", ("requests",), _each(e2el_s)
    ),
    _distribution(
        "client_queue",
        "Time in the client's queue: released − scheduled time; above 0 where a limit of requests in flight held it "
        "back.",
        ("requests",),
        _each(queue_s),
    ),
    _distribution(
        "send_lag",
        "Lateness of the client itself: sent − released time. An error of the measurement, not of the server.",
        ("requests",),
        _each(send_lag_s),
    ),
)
