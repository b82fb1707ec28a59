"""Completions over HTTP: what is asked, what is kept, what is a failure."""

import pytest

from tests.fakes.server import FakeServer, serving
from verispec_bench.client import Target
from verispec_bench.exactness.completions import complete
from verispec_bench.exactness.posting import RequestFailed
from verispec_bench.scenario import SamplingParameters


async def ask(server, prompts=("a", "b"), count=6, **further):
    async with serving(server) as url:
        sampling = SamplingParameters(top_k=5, top_p=0.5)
        options = {"concurrency": 2, "timeout_s": 5.0} | further
        return await complete(Target(url, "m"), prompts, count, sampling, 4, **options)


async def test_prompts_take_turns_and_every_completion_has_its_tokens_and_drafts():
    server, done = FakeServer(speculative=True), []
    made = await ask(server, on_done=lambda: done.append(1))
    assert [completion.prompt for completion in made] == [0, 1, 0, 1, 0, 1]
    assert all(len(completion.token_ids) == 4 for completion in made)
    assert (made[0].rounds, made[0].draft_tokens, made[0].accepted_tokens) == (2, 4, 2)
    assert len(done) == 6
    body = server.bodies[0]
    assert (body["temperature"], body["top_k"], body["top_p"], body["ignore_eos"]) == (1.0, 5, 0.5, True)
    assert "seed" not in body


async def test_a_server_that_does_not_speculate_drafts_nothing():
    assert {completion.rounds for completion in await ask(FakeServer())} == {0}


async def test_the_first_failure_ends_it_with_the_servers_words():
    with pytest.raises(RequestFailed, match="http 503: overloaded"):
        await ask(FakeServer(), prompts=("a", "!503"))


async def test_a_server_that_does_not_answer_is_a_failure():
    with pytest.raises(RequestFailed, match="timeout"):
        await ask(FakeServer(chunk_s=5), timeout_s=0.1)
