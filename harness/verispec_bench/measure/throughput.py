"""How much was served, how fast, and how much of it within the stated limits."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from verispec_bench.client.record import RequestRecord
from verispec_bench.measure.metric import Metric, MissingError
from verispec_bench.measure.run import RunData, duration_s

if TYPE_CHECKING:
    from verispec_bench.measure.slo import Slo


def failures(run: RunData) -> dict[str, int]:
    """Failed requests by the kind of their fault: {"timeout": 2, "http 503": 1}."""
    kinds = Counter((r.error or "").partition(":")[0].strip() or "unknown" for r in run.records if r.error is not None)
    return dict(sorted(kinds.items()))


def peak_output_throughput(run: RunData) -> float:
    """The most output tokens in a window, over its length.

    The window is a whole part of the run of at least one second, or all of a shorter run: n windows cover the run, so
    that the peak cannot be below the average.
    """
    if not run.done:
        raise MissingError("completed requests")
    return max(_peak([r for r in records if r.ok], duration_s(records)) for records in run.runs)


def _peak(done: Sequence[RequestRecord], duration: float) -> float:
    if any(record.completion_tokens is None or sum(record.chunk_tokens) != record.completion_tokens for record in done):
        raise MissingError("tokens of each chunk")
    parts = max(1, int(duration))
    chunks = sorted(chunk for r in done for chunk in zip(r.chunk_times_s, r.chunk_tokens, strict=True))
    most = inside = first = 0
    for time, tokens in chunks:
        inside += tokens
        while time - chunks[first][0] > duration / parts + 1e-9:
            inside -= chunks[first][1]
            first += 1
        most = max(most, inside)
    return most * parts / duration


def _good(run: RunData) -> int:
    slo: Slo | None = run.slo
    if slo is None or not run.done:
        raise MissingError("slo")
    return sum(slo.met(record) for record in run.records)


def _short_answers(run: RunData) -> int:
    """Answers that nothing allowed to be shorter than asked for."""
    answers = zip(run.done, run.output_lens, run.asked_lens, strict=True)
    return sum(got < asked and (run.ignore_eos or record.finish_reason != "stop") for record, got, asked in answers)


METRICS = (
    Metric(
        "completed",
        "requests",
        "higher",
        "Requests answered without a fault.",
        ("requests",),
        lambda run: len(run.done),
    ),
    Metric(
        "failed",
        "requests",
        "lower",
        "Requests that were sent and are not completed.",
        ("requests",),
        lambda run: len(run.records) - len(run.done),
    ),
    Metric(
        "failures",
        "requests",
        "lower",
        "Failed requests by kind: timeout, refused, reset, truncated, stream error, http STATUS.",
        ("requests",),
        failures,
        structured=True,
    ),
    Metric(
        "duration",
        "s",
        None,
        "From the start of a run to the end of its last request, failed ones included; runs added.",
        ("requests",),
        lambda run: run.duration_s,
    ),
    Metric(
        "total_input_tokens",
        "tokens",
        None,
        "Prompt tokens of the completed requests.",
        ("usage",),
        lambda run: run.prompt_tokens,
    ),
    Metric(
        "total_output_tokens",
        "tokens",
        None,
        "Tokens of the completed answers.",
        ("usage",),
        lambda run: run.output_tokens,
    ),
    Metric(
        "input_len_mean",
        "tokens",
        None,
        "Prompt tokens / completed requests.",
        ("usage",),
        lambda run: run.prompt_tokens / len(run.done),
    ),
    Metric(
        "output_len_mean",
        "tokens",
        None,
        "Output tokens / completed requests.",
        ("usage",),
        lambda run: run.output_tokens / len(run.done),
    ),
    Metric(
        "request_throughput",
        "requests/s",
        "higher",
        "Completed requests / duration.",
        ("requests",),
        lambda run: run.per_second(len(run.done)),
    ),
    Metric(
        "output_throughput",
        "tokens/s",
        "higher",
        "Output tokens of completed requests / duration.",
        ("usage",),
        lambda run: run.per_second(run.output_tokens),
    ),
    Metric(
        "total_token_throughput",
        "tokens/s",
        "higher",
        "Prompt and output tokens of completed requests / duration.",
        ("usage",),
        lambda run: run.per_second(run.prompt_tokens + run.output_tokens),
    ),
    Metric(
        "max_output_tokens_per_s",
        "tokens/s",
        "higher",
        "Peak output throughput: the most tokens that arrived within a window / its length, wherever it begins; the "
        "length is duration / whole seconds of the duration (1 s to 2 s), so that the peak is never below the average.",
        ("chunks",),
        peak_output_throughput,
    ),
    Metric(
        "request_goodput",
        "requests/s",
        "higher",
        "Requests that completed within all stated limits / duration.",
        ("slo",),
        lambda run: run.per_second(_good(run)),
    ),
    Metric(
        "goodput_share",
        "",
        "higher",
        "Requests that completed within all stated limits / requests sent; a failed request is not good.",
        ("slo",),
        lambda run: _good(run) / len(run.records),
    ),
    Metric(
        "total_asked_tokens",
        "tokens",
        None,
        "Output tokens that the completed requests asked for (max_tokens).",
        ("asked",),
        lambda run: sum(run.asked_lens),
    ),
    Metric(
        "output_shortfall",
        "",
        None,
        "1 − output tokens / tokens asked for.",
        ("asked", "usage"),
        lambda run: 1 - run.output_tokens / sum(run.asked_lens),
    ),
    Metric(
        "short_answers",
        "requests",
        "lower",
        "Completed requests with fewer tokens than asked for, and no reason: the answer did not end by itself (finish "
        'reason "stop"), or it was told not to (ignore_eos).',
        ("asked", "usage"),
        _short_answers,
    ),
)
