"""How much of what was drafted was kept. Counts are pooled before dividing; None where nothing was drafted."""

from collections import Counter
from collections.abc import Callable, Sequence

from verispec_bench.client.record import RequestRecord
from verispec_bench.measure.metric import Distribution, Metric, MissingError
from verispec_bench.measure.run import RunData, known


def decode_steps(record: RequestRecord, tokens: int) -> int:
    """Target passes that produced this request's tokens, the prompt's included.

    Two lower bounds, the larger of which is taken: the chunks that were streamed (several steps may share one under
    load), and tokens − accepted drafts (drafts that were accepted past a stop are counted by vLLM, and not emitted).
    """
    return max(len(record.chunk_tokens), tokens - (record.num_accepted_tokens or 0))


def accepted_per_round(rounds: Sequence[int]) -> dict[int, int]:
    """Histogram: how many rounds kept 0, 1, 2, … drafts, from the drafts kept in each."""
    counts = Counter(rounds)
    return {kept: counts[kept] for kept in range(max(rounds) + 1)}


def per_position_rates(rounds: Sequence[int]) -> list[float]:
    """vLLM's: of all rounds, the fraction that kept the draft at position 1, 2, …, from the drafts kept in each."""
    return [sum(kept >= position for kept in rounds) / len(rounds) for position in range(1, max(rounds) + 1)]


def unconditional_rates(rounds: Sequence[tuple[int, int]]) -> list[float]:
    """Of the rounds that drafted as far as position 1, 2, …, the fraction that kept that draft.

    Args:
        rounds: (drafts kept, drafts made) of each.

    """
    return [
        sum(kept >= position for kept, _ in reached) / len(reached)
        for position in range(1, max(drafted for _, drafted in rounds) + 1)
        if (reached := [round_ for round_ in rounds if round_[1] >= position])
    ]


def conditional_rates(rounds: Sequence[tuple[int, int]]) -> list[float | None]:
    """The same of the rounds that also kept every draft before; None where no round did."""
    rates: list[float | None] = []
    for position in range(1, max(drafted for _, drafted in rounds) + 1):
        reached = [kept for kept, drafted in rounds if drafted >= position and kept >= position - 1]
        rates.append(sum(kept >= position for kept in reached) / len(reached) if reached else None)
    return rates


def is_consistent(record: RequestRecord) -> bool:
    """Do the server's counts of this request agree with each other? What it does not report cannot disagree."""
    kept, drafted = record.accepted_per_step or [], record.drafted_per_step or []
    return (
        (record.num_accepted_tokens or 0) <= (record.num_draft_tokens or 0)
        and (not kept or (len(kept), sum(kept)) == (record.num_spec_steps, record.num_accepted_tokens))
        and (not drafted or (len(drafted), sum(drafted)) == (record.num_spec_steps, record.num_draft_tokens))
        and all(of <= made for of, made in zip(kept, drafted, strict=False))
    )


def _speculated(run: RunData) -> list[RequestRecord]:
    """The completed requests of which the server reports rounds."""
    speculated = [record for record in run.done if record.num_spec_steps is not None]
    if not speculated:
        raise MissingError("rounds")
    return speculated


def _rounds(run: RunData) -> int:
    return sum(known(record.num_spec_steps for record in _speculated(run)))


def _drafted(run: RunData) -> int:
    return sum(known(record.num_draft_tokens for record in _speculated(run)))


def _accepted(run: RunData) -> int:
    return sum(known(record.num_accepted_tokens for record in _speculated(run)))


def _kept(run: RunData) -> list[int]:
    """Drafts kept in each round of all requests; there is one at least."""
    return _by_round(run, lambda record: record.accepted_per_step)


def _kept_and_drafted(run: RunData) -> list[tuple[int, int]]:
    return list(zip(_kept(run), _by_round(run, lambda record: record.drafted_per_step), strict=True))


def _by_round(run: RunData, counts: Callable[[RequestRecord], Sequence[int] | None]) -> list[int]:
    rounds: list[int] = []
    for record in _speculated(run):
        of_request = counts(record) or []
        if len(of_request) != record.num_spec_steps:
            raise MissingError("rounds one by one")
        rounds += of_request
    if not rounds:
        raise MissingError("a round with a draft")
    return rounds


def _steps(run: RunData) -> int:
    return sum(decode_steps(record, tokens) for record, tokens in zip(run.done, run.output_lens, strict=True))


def _by_request(run: RunData) -> list[list[float]]:
    return [
        [1 + record.num_accepted_tokens / record.num_spec_steps]
        for record in _speculated(run)
        if record.num_spec_steps and record.num_accepted_tokens is not None
    ]


METRICS = (
    Metric(
        "tokens_per_step",
        "tokens",
        "higher",
        "Output tokens / steps of their requests, steps without a draft included (max(chunks, tokens − accepted "
        "drafts) of each request): 1 for a server that does not speculate.",
        ("usage",),
        lambda run: run.output_tokens / _steps(run),
    ),
    Metric(
        "spec_decode_acceptance_length",
        "tokens",
        "higher",
        "1 + accepted drafts / rounds: tokens that a round with a draft makes.",
        ("rounds",),
        lambda run: 1 + _accepted(run) / _rounds(run),
    ),
    Metric(
        "spec_decode_acceptance_rate",
        "%",
        "higher",
        "100 × accepted drafts / drafted tokens.",
        ("rounds",),
        lambda run: 100 * _accepted(run) / _drafted(run),
    ),
    Metric("spec_decode_num_drafts", "rounds", None, "Rounds that verified a draft.", ("rounds",), _rounds),
    Metric("spec_decode_draft_tokens", "tokens", None, "Drafted tokens that were verified.", ("rounds",), _drafted),
    Metric("spec_decode_accepted_tokens", "tokens", None, "Of these, how many the rule kept.", ("rounds",), _accepted),
    Metric(
        "spec_decode_per_position_acceptance_rates",
        "",
        "higher",
        "Rounds that kept the draft at position 1, 2, … / all rounds, however far they drafted.",
        ("rounds", "steps"),
        lambda run: per_position_rates(_kept(run)),
        structured=True,
    ),
    Metric(
        "unconditional_acceptance_rates",
        "",
        "higher",
        "Rounds that kept the draft at position 1, 2, … / rounds that drafted that far.",
        ("rounds", "steps"),
        lambda run: unconditional_rates(_kept_and_drafted(run)),
        structured=True,
    ),
    Metric(
        "conditional_acceptance_rates",
        "",
        "higher",
        "Rounds that kept the draft at position 1, 2, … / rounds that drafted that far and kept every draft before it.",
        ("rounds", "steps"),
        lambda run: conditional_rates(_kept_and_drafted(run)),
        structured=True,
    ),
    Metric(
        "accepted_per_round",
        "rounds",
        None,
        "How many rounds kept 0, 1, 2, … drafts.",
        ("rounds", "steps"),
        lambda run: accepted_per_round(_kept(run)),
        structured=True,
    ),
    Distribution(
        "request_acceptance_length",
        "tokens",
        "higher",
        "1 + accepted drafts / rounds of each request that had a round: how it spreads over requests.",
        ("rounds",),
        _by_request,
    ),
    Metric(
        "draft_round_share",
        "",
        None,
        "Rounds with a draft / all steps of the requests: how often there was something to verify.",
        ("rounds", "usage"),
        lambda run: _rounds(run) / _steps(run),
    ),
    Metric(
        "inconsistent_requests",
        "requests",
        "lower",
        "Requests whose counts contradict each other: accepted above drafted, or rounds that do not add up.",
        ("rounds",),
        lambda run: sum(not is_consistent(record) for record in _speculated(run)),
    ),
)
