"""The load client against the mock: sums are exact, and each fault is what the client says it is."""

import pytest

from verispec_bench.client import Request, Sampling, Target, run_load
from verispec_bench.mock import Fault, MockSettings
from verispec_bench.mock.schedule import Schedule
from verispec_bench.mock.server import serve
from verispec_bench.mock.tokens import answer, tokenize
from verispec_bench.workload import Prompt

PROMPTS = [Prompt(str(i), f"question {i}") for i in range(24)]


async def load(settings, concurrency=8, max_tokens=10, timeout_s=30):
    async with serve(settings) as (server, url):
        requests = [Request(prompt, Sampling(max_tokens)) for prompt in PROMPTS]
        target = Target(url, settings.model)
        run = await run_load(target, requests, concurrency=concurrency, timeout_s=timeout_s)
        return run.records, server.timing.as_dict()


@pytest.mark.parametrize("tokens_per_chunk", [1, 3, 16])
async def test_tokens_of_chunks_are_the_usage_and_what_the_mock_sent(tokens_per_chunk):
    settings = MockSettings(ttft_ms=5, tokens_per_second=500, tokens_per_chunk=tokens_per_chunk, jitter=0.5)
    records, timing = await load(settings)
    assert [record.error for record in records] == [None] * len(PROMPTS)
    assert all(sum(record.chunk_tokens) == record.completion_tokens == 10 for record in records)
    assert all(
        record.token_ids == answer(tokenize(prompt.text), 10) for record, prompt in zip(records, PROMPTS, strict=True)
    )
    assert timing["tokens"] == 10 * len(PROMPTS)
    assert timing["chunks"] == sum(len(record.chunk_times_s) for record in records)


FAULTS = {
    Fault.HTTP_503: "http 503",
    Fault.HTTP_429: "http 429",
    Fault.RESET: "reset",
    Fault.TRUNCATE: "truncated",
    Fault.STREAM_ERROR: "stream error",
    Fault.HANG: "timeout",
}


@pytest.mark.parametrize("kind", list(Fault))
async def test_each_fault_is_what_the_client_says_it_is_and_comes_as_often_as_the_seed_says(kind):
    settings = MockSettings(ttft_ms=5, tokens_per_second=500, error_rate=0.4, error_kind=kind, seed=3)
    expected = sum(Schedule(settings).fault(number) is not None for number in range(len(PROMPTS)))
    records, timing = await load(settings, timeout_s=3 if kind is Fault.HANG else 30)
    errors = [record.error.partition(":")[0] for record in records if record.error]
    assert errors == [FAULTS[kind]] * expected
    assert 0 < expected < len(PROMPTS)
    assert timing["failed"] == expected
