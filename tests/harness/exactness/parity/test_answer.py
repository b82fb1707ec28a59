"""What is asked, and answers that are not what was asked for."""

import pytest

from tests.fakes.server import FakeServer, serving
from verispec_bench.client import Target
from verispec_bench.exactness.parity.answer import plain, scored, with_rows
from verispec_bench.exactness.parity.corpus import GreedyPrompt
from verispec_bench.exactness.posting import RequestFailed, post_all


async def ask(server, *asks):
    async with serving(server) as url:
        requests = [(one.path, one.body) for one in asks]
        return await post_all(Target(url, "m"), requests, lambda i, a: asks[i].read(a), concurrency=2, timeout_s=5)


@pytest.mark.parametrize("chat", [True, False])
async def test_a_prompt_is_asked_with_its_options_and_without_logprobs(chat):
    server = FakeServer(speculative=True)
    (answer,) = await ask(server, plain(GreedyPrompt("stop", 3, "ab", chat, {"stop": ["x"]}), 4))
    assert (answer.prompt, answer.prompt_token_ids, answer.token_ids) == ("stop-003", [194], [195, 196, 197, 198])
    assert (answer.text, answer.finish_reason, answer.completion_tokens) == (" t195 t196 t197 t198", "stop", 4)
    assert (answer.rounds, answer.draft_tokens, answer.accepted_tokens) == (2, 4, 2)
    (body,) = server.bodies
    assert (body["temperature"], body["max_tokens"], body["stop"]) == (0, 4, ["x"])
    assert not {"logprobs", "prompt_logprobs", "stream"} & body.keys()


async def test_rows_come_with_the_answer_and_are_scored_in_one_pass():
    server = FakeServer()
    (answer,) = await ask(server, plain(GreedyPrompt("code", 0, "ab"), 3))
    (rows,) = await ask(server, with_rows(answer, 3, top=5))
    assert rows.token_ids == answer.token_ids
    assert rows.rows[0] == [(195, -0.5, ""), (196, -1.5, "")]
    (whole,) = await ask(server, scored("code-000", [194], answer.token_ids, count=2, top=5))
    assert (whole.prompt_token_ids, whole.token_ids) == ([194, 195], [196, 197])
    assert [[token for token, _, _ in row] for row in whole.rows] == [[196, 197], [197, 198]]
    assert whole.rows[0][0][2] == " t196"


@pytest.mark.parametrize(
    "answer", [{}, {"choices": []}, {"choices": [{"text": "", "token_ids": None}]}, {"choices": 3}]
)
def test_an_answer_without_what_was_asked_for_is_a_failure(answer):
    with pytest.raises(RequestFailed, match="prompt code-000: not the answer asked for"):
        plain(GreedyPrompt("code", 0, "ab"), 3).read(answer)
    with pytest.raises(RequestFailed, match="not the answer asked for"):
        scored("code-000", [1], [2], count=1, top=5).read(answer)
