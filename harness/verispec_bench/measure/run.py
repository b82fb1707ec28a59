"""The measures of one run: vLLM's key names where vLLM has the measure."""

from collections.abc import Iterable, Sequence
from typing import Any

from verispec_bench.client.record import RequestRecord
from verispec_bench.measure import acceptance, latency
from verispec_bench.measure.percentiles import describe


def measure_run(records: Sequence[RequestRecord]) -> dict[str, Any]:
    """Latencies, throughputs and acceptance over the completed requests; the failed ones are counted."""
    done = [record for record in records if record.ok]
    duration = max((record.end_s or 0.0 for record in records), default=0.0)
    output = total(record.completion_tokens for record in done)
    prompt = total(record.prompt_tokens for record in done)

    def rate(count: int | None) -> float | None:
        return count / duration if count is not None and done and duration else None

    measures: dict[str, Any] = {
        "completed": len(done),
        "failed": len(records) - len(done),
        "duration": duration,
        "total_input_tokens": prompt,
        "total_output_tokens": output,
        "request_throughput": rate(len(done)),
        "output_throughput": rate(output),
        "total_token_throughput": rate(total((output, prompt))),
    }
    for name, of in (("ttft", latency.ttft_s), ("tpot", latency.tpot_s), ("e2el", latency.e2el_s)):
        measures |= describe([value for record in done if (value := of(record)) is not None], name)
    measures |= describe([gap for record in done for gap in latency.itl_s(record)], "itl", requests=len(done))
    return measures | measure_acceptance(done)


def total(counts: Iterable[int | None]) -> int | None:
    """The sum; None if one is unknown, or there is none."""
    known = list(counts)
    return sum(c for c in known if c is not None) if known and None not in known else None


def measure_acceptance(records: Sequence[RequestRecord]) -> dict[str, Any]:
    """Acceptance under vLLM's keys (the rate in percent), and tokens per step."""
    speculated = [record for record in records if record.num_spec_steps is not None]
    rate = acceptance.acceptance_rate(speculated)

    return {
        "tokens_per_step": acceptance.tokens_per_step(records),
        "spec_decode_acceptance_rate": None if rate is None else 100 * rate,
        "spec_decode_acceptance_length": acceptance.acceptance_length(speculated),
        "spec_decode_num_drafts": total(record.num_spec_steps for record in speculated),
        "spec_decode_draft_tokens": total(record.num_draft_tokens for record in speculated),
        "spec_decode_accepted_tokens": total(record.num_accepted_tokens for record in speculated),
        "spec_decode_per_position_acceptance_rates": acceptance.per_position_rates(speculated),
    }
