"""Texts are tokenised by the server that is going to read them."""

from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from verispec_bench.errors import InfrastructureFailed
from verispec_bench.workload import tokenise


@asynccontextmanager
async def tokenizer(answer):
    """The base URL of a server whose tokenizer answers with `answer(body)`."""

    async def handle(request):
        return answer(await request.json())

    app = web.Application()
    app.router.add_post("/tokenize", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
    finally:
        await runner.cleanup()


async def tokenised(answer, texts=("ab", "c")):
    async with tokenizer(answer) as url, aiohttp.ClientSession() as session:
        return await tokenise(session, url, "m", texts)


async def test_each_text_gets_its_ids_in_order():
    bodies = []

    def answer(body):
        bodies.append(body)
        return web.json_response({"count": 1, "max_model_len": 9, "tokens": [ord(char) for char in body["prompt"]]})

    assert await tokenised(answer) == [[97, 98], [99]]
    assert bodies == [{"model": "m", "prompt": "ab"}, {"model": "m", "prompt": "c"}]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda body: web.Response(status=404, text="no such path"), "/tokenize: http 404: no such path"),
        (lambda body: web.Response(text="[1]"), "/tokenize: no answer: ContentTypeError"),
        (lambda body: web.json_response({"count": 1}), "/tokenize: answers with no list of token ids"),
        (lambda body: web.json_response([1]), "/tokenize: answers with no list of token ids"),
        (lambda body: web.json_response({"tokens": ["a"]}), "/tokenize: answers with no list of token ids"),
    ],
    ids=["404", "no JSON", "no tokens", "no object", "no ids"],
)
async def test_a_server_that_does_not_tokenise_is_named(answer, message):
    with pytest.raises(InfrastructureFailed, match=message):
        await tokenised(answer)


async def test_a_server_that_is_not_there_is_named():
    async with aiohttp.ClientSession() as session:
        with pytest.raises(InfrastructureFailed, match="/tokenize: no answer: ClientConnectorError"):
            await tokenise(session, "http://127.0.0.1:9", "m", ["x"])
