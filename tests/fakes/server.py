"""A server that speaks enough of vLLM's API for the load path, with scripted faults. Runs in-process or as a child.

Answers are a function of the prompt, so that two fakes give the same greedy tokens. Faults are asked for by a word in
the prompt: "!503", "!429", "!error", "!truncate", "!reset", "!hang".
"""

import asyncio
import json
import os
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

from aiohttp import web

from tests.fakes.greedy_model import GreedyModel


@dataclass
class FakeServer:
    """Settings and what was seen.

    Attributes:
        model: served id.
        tokens_per_chunk, chunk_s: how answers are streamed.
        answer_tokens: length of an answer (max_tokens cuts it).
        speculative: report per-request speculation metrics, as a speculative vLLM does.
        drafted: whether anything was ever drafted.
        rounds: most rounds with a draft that an answer reports.
        law: of each token of a /v1/completions answer, over the ids 0, 1, ….
        greedy: what answers that are not streamed follow at temperature 0.
        finish, text_end: their finish reason, and an end of their text that no token stands for.
        settings: what /server_info reports.
        release: what /verispec/manifest answers; None: there is none.
        extra_prompt_tokens: added to what is said of prompts that were sent as ids.
        offset: added to every token id, to make two fakes disagree.
        falls_back: a reason for which it falls back to target-only decoding, once for each answer.
        dies_after: the process ends when it is asked for one more answer than this.

    """

    model: str = "m"
    tokens_per_chunk: int = 1
    chunk_s: float = 0.002
    answer_tokens: int = 12
    speculative: bool = False
    drafted: bool = True
    rounds: int = 1000
    law: list[float] = field(default_factory=lambda: [0.6, 0.3, 0.1])
    greedy: GreedyModel = field(default_factory=GreedyModel)
    finish: str = "stop"
    text_end: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    release: dict[str, Any] | None = None
    offset: int = 0
    extra_prompt_tokens: int = 0
    falls_back: str | None = None
    dies_after: int | None = None
    control: dict[str, Any] | None = None
    running: int = 0
    most_running: int = 0
    bodies: list[dict[str, Any]] = field(default_factory=list)
    sent_at: list[float] = field(default_factory=list)
    random: Random = field(default_factory=lambda: Random(0))

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/health", self._constant({}))
        app.router.add_get("/version", self._constant({"version": "fake"}))
        app.router.add_get("/v1/models", self._constant({"data": [{"id": self.model}]}))
        app.router.add_get("/server_info", self._constant({"vllm_config": self.settings, "vllm_env": {}}))
        app.router.add_get("/verispec/status", self._status)
        if self.release is not None:
            app.router.add_get("/verispec/manifest", self._constant(self.release))
        app.router.add_get("/metrics", self._metrics)
        app.router.add_post("/tokenize", self._tokenize)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_post("/v1/completions", self._sample)
        return app

    @staticmethod
    def _constant(body: dict[str, Any]):
        async def answer(request: web.Request) -> web.Response:
            return web.json_response(body)

        return answer

    async def _status(self, request: web.Request) -> web.Response:
        if not self.speculative:
            return web.Response(status=404)
        worker = {"pid": 1, "seams": ["rejection-rule"], "counters": {}, "control": self.control}
        return web.json_response({"workers": [worker]})

    async def _tokenize(self, request: web.Request) -> web.Response:
        """A token for each character."""
        return web.json_response({"tokens": [ord(c) % 1000 for c in (await request.json())["prompt"]]})

    async def _metrics(self, request: web.Request) -> web.Response:
        text = f'vllm:num_requests_running{{engine="0"}} {self.running}\n'
        if self.speculative:
            count, reason = (len(self.bodies), self.falls_back) if self.falls_back else (0, "raised")
            text += f'verispec:fallbacks_total{{engine="0",reason="{reason}"}} {count}\n'
            text += f'verispec:target_only_seconds_total{{engine="0"}} {count * 0.001}\n'
        return web.Response(text=text)

    async def _sample(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.bodies.append(body)
        self._die_if_asked_to()
        if refusal := _refusal(body["prompt"]):
            return refusal
        if body.get("stream"):
            return await self._stream(request, body, body["prompt"], chat=False)
        await asyncio.sleep(self.chunk_s)
        if body["temperature"] == 0:
            return self._greedy_answer(body, body["prompt"], chat=False)
        drawn = self.random.choices(range(len(self.law)), self.law, k=body["max_tokens"])
        answer: dict[str, Any] = {"choices": [{"index": 0, "token_ids": drawn}]}
        if self.speculative:
            answer["metrics"] = self._speculation(body["max_tokens"])
        return web.json_response(answer)

    def _greedy_answer(self, body: dict[str, Any], prompt: str | list[int], chat: bool) -> web.Response:
        """An answer, with logprobs if asked for; with prompt_logprobs, a pass over the prompt."""
        prompt_ids = self.greedy.prompt_ids(prompt) if isinstance(prompt, str) else prompt
        ids = self.greedy.answer(prompt_ids, min(self.answer_tokens, body["max_tokens"]))
        text = "".join(f" t{i}" for i in ids) + self.text_end
        choice: dict[str, Any] = {"index": 0, "token_ids": ids, "finish_reason": self.finish, "stop_reason": None}
        choice |= {"message": {"content": text}} if chat else {"text": text, "prompt_token_ids": prompt_ids}
        if "logprobs" in body:
            tops = [self.greedy.step(last) for last in [*prompt_ids[-1:], *ids[:-1]]]
            named = [{f"token_id:{i}": value for i, value in top.items()} for top in tops]
            choice["logprobs"] = {"top_logprobs": named}
        if "prompt_logprobs" in body:
            choice["prompt_logprobs"] = self.greedy.whole(prompt_ids)
        usage = {"prompt_tokens": len(prompt_ids), "completion_tokens": len(ids)}
        answer: dict[str, Any] = {"choices": [choice], "usage": usage}
        if chat:
            answer["prompt_token_ids"] = prompt_ids
        if self.speculative:
            answer["metrics"] = self._speculation(len(ids))
        return web.json_response(answer)

    def _die_if_asked_to(self) -> None:
        if self.dies_after is not None and len(self.bodies) > self.dies_after:
            print("RuntimeError: [core.py:1036] the engine is [/gone]", flush=True)
            os._exit(1)

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.bodies.append(body)
        self.sent_at.append(time.perf_counter())
        prompt = body["messages"][0]["content"]
        self._die_if_asked_to()
        if refusal := _refusal(prompt):
            return refusal
        if not body.get("stream"):
            await asyncio.sleep(self.chunk_s)
            return self._greedy_answer(body, prompt, chat=True)
        return await self._stream(request, body, prompt, chat=True)

    async def _stream(
        self, request: web.Request, body: dict[str, Any], prompt: str | list[int], chat: bool
    ) -> web.StreamResponse:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            return await self._events(request, body, prompt, chat)
        finally:
            self.running -= 1

    async def _events(
        self, request: web.Request, body: dict[str, Any], prompt: str | list[int], chat: bool
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        wanted = min(self.answer_tokens, body["max_tokens"])
        first = sum(prompt.encode() if isinstance(prompt, str) else prompt)
        ids = [self.offset + (first + i) % 1000 for i in range(wanted)]
        sent = 0
        if chat:
            await self._event(response, [], self._usage(prompt, 0), None, chat)
        while sent < wanted:
            await asyncio.sleep(self.chunk_s)
            chunk = ids[sent : sent + self.tokens_per_chunk]
            sent += len(chunk)
            if sent > 2 and await self._fault(request, response, prompt):
                return response
            running = body["stream_options"].get("continuous_usage_stats")
            usage = self._usage(prompt, sent) if running else None
            await self._event(response, chunk, usage, "stop" if sent == wanted else None, chat)
        await self._last(response, self._usage(prompt, wanted))
        await response.write(b"data: [DONE]\n\n")
        return response

    async def _fault(self, request: web.Request, response: web.StreamResponse, prompt: str | list[int]) -> bool:
        if "!error" in prompt:
            await response.write(b'data: {"error": {"message": "engine died", "code": 500}}\n\ndata: [DONE]\n\n')
        elif "!reset" in prompt:
            assert request.transport is not None
            request.transport.abort()
        elif "!hang" in prompt:
            await asyncio.sleep(3600)
        elif "!truncate" not in prompt:
            return False
        return True

    async def _event(
        self, response: web.StreamResponse, ids: list[int], usage: dict[str, int] | None, finish: str | None, chat: bool
    ) -> None:
        text = "".join(f" t{i}" for i in ids)
        delta = {"content": text} if ids else {"role": "assistant", "content": ""}
        choice: dict[str, Any] = {"index": 0, "finish_reason": finish, "token_ids": ids or None}
        choice |= {"delta": delta} if chat else {"text": text}
        event = {"choices": [choice], "usage": usage}
        await response.write(f"data: {json.dumps(event)}\n\n".encode())

    def _usage(self, prompt: str | list[int], completion_tokens: int) -> dict[str, int]:
        prompt_tokens = 5 if isinstance(prompt, str) else len(prompt) + self.extra_prompt_tokens
        return {"prompt_tokens": prompt_tokens, "completion_tokens": completion_tokens}

    async def _last(self, response: web.StreamResponse, usage: dict[str, int]) -> None:
        event: dict[str, Any] = {"choices": [], "usage": usage}
        if self.speculative:
            event["metrics"] = self._speculation(usage["completion_tokens"])
        await response.write(f"data: {json.dumps(event)}\n\n".encode())

    def _speculation(self, total: int) -> dict[str, Any]:
        rounds = min(self.rounds, total // 2) if self.drafted else 0
        return {
            "speculative_decoding": {
                "num_spec_steps": rounds,
                "num_draft_tokens": 2 * rounds,
                "num_accepted_draft_tokens": rounds,
                "per_step_accepted": [1] * rounds,
                "per_step_drafted": [2] * rounds,
            }
        }


def _refusal(prompt: str | list[int]) -> web.Response | None:
    if "!503" in prompt:
        return web.Response(status=503, text="overloaded")
    if "!429" in prompt:
        return web.Response(status=429, text="slow down", headers={"Retry-After": "2"})
    return None


@asynccontextmanager
async def serving(server: FakeServer):
    """The base URL of an in-process fake."""
    runner = web.AppRunner(server.app(), shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"
    finally:
        await runner.cleanup()
