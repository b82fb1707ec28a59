"""The measures of one run: vLLM's key names where vLLM has the measure."""

from collections.abc import Sequence
from typing import Any

from verispec_bench.client.record import RequestRecord
from verispec_bench.measure import acceptance, latency
from verispec_bench.measure.percentiles import describe


def measure_run(records: Sequence[RequestRecord]) -> dict[str, Any]:
    """Latencies, throughputs and acceptance over the completed requests; the failed ones are counted."""
    done = [record for record in records if record.ok]
    duration = max((record.end_s or 0.0 for record in records), default=0.0)
    output = sum(record.completion_tokens or 0 for record in done)
    prompt = sum(record.prompt_tokens or 0 for record in done)

    def rate(count: int) -> float | None:
        return count / duration if done and duration else None

    measures: dict[str, Any] = {
        "completed": len(done),
        "failed": len(records) - len(done),
        "duration": duration,
        "total_input_tokens": prompt,
        "total_output_tokens": output,
        "request_throughput": rate(len(done)),
        "output_throughput": rate(output),
        "total_token_throughput": rate(output + prompt),
    }
    for name, of in (("ttft", latency.ttft_s), ("tpot", latency.tpot_s), ("e2el", latency.e2el_s)):
        measures |= describe([value for record in done if (value := of(record)) is not None], name)
    measures |= describe([gap for record in done for gap in latency.itl_s(record)], "itl")
    return measures | measure_acceptance(done)


def measure_acceptance(records: Sequence[RequestRecord]) -> dict[str, Any]:
    """Acceptance under vLLM's keys (the rate in percent), and tokens per step."""
    speculated = [record for record in records if record.num_spec_steps is not None]
    rate = acceptance.acceptance_rate(speculated)

    def total(attribute: str) -> int | None:
        return sum(getattr(record, attribute) for record in speculated) if speculated else None

    return {
        "tokens_per_step": acceptance.tokens_per_step(records),
        "spec_decode_acceptance_rate": None if rate is None else 100 * rate,
        "spec_decode_acceptance_length": acceptance.acceptance_length(speculated),
        "spec_decode_num_drafts": total("num_spec_steps"),
        "spec_decode_draft_tokens": total("num_draft_tokens"),
        "spec_decode_accepted_tokens": total("num_accepted_tokens"),
        "spec_decode_per_position_acceptance_rates": acceptance.per_position_rates(speculated),
    }
