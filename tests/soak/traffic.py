"""Mixed requests, each with the answer that it must get whatever happens to the drafter."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from verispec_bench.client.sse import EventParser
from verispec_bench.workload import load_prompts

TOKENS = 40
TIMEOUT_S = 120
ABORTED_SHARE = 0.05
NAMES = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "maximum": 99}},
    "required": ["name", "age"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Case:
    """A request.

    Attributes:
        name: for messages.
        body: of /v1/chat/completions.
        has_one_answer: greedy or seeded, so that it must be answered alike each time.

    """

    name: str
    body: dict[str, Any]
    has_one_answer: bool = True

    @property
    def is_seeded(self) -> bool:
        """Its answer is a function of its seed: on a server that draws by (seed, position)."""
        return "seed" in self.body


@dataclass(frozen=True)
class Answer:
    """What came of a request that was answered."""

    token_ids: tuple[int, ...]
    text: str
    finish_reason: str | None


def cases() -> list[Case]:
    """Every kind of request twice or more, some streamed."""
    chat, code = (iter(load_prompts(name, seed=23)) for name in ("chat", "code-edit"))
    kinds: list[tuple[str, dict[str, Any], bool]] = [
        ("greedy", {}, True),
        ("greedy, long after its end", {"ignore_eos": True}, True),
        ("greedy with penalties", {"repetition_penalty": 1.2, "frequency_penalty": 0.3}, True),
        ("greedy with a stop string", {"stop": ["the", "def "]}, True),
        ("greedy with min_tokens", {"min_tokens": 30, "stop": ["."]}, True),
        ("greedy with logprobs", {"logprobs": True, "top_logprobs": 3}, True),
        ("greedy with a bias", {"logit_bias": {"284": 3.0, "198": -3.0}}, True),
        ("greedy without drafts", {"vllm_xargs": {"verispec": "off"}}, True),
        ("greedy under a JSON schema", {"structured_outputs": {"json": NAMES}}, True),
        ("greedy under a regex", {"structured_outputs": {"regex": r"(yes|no)( and (yes|no)){2,5}\."}}, True),
        ("seeded", {"temperature": 0.8, "seed": 5}, True),
        ("seeded with top-p and min_p", {"temperature": 1.0, "seed": 6, "top_p": 0.9, "min_p": 0.02}, True),
        ("sampled", {"temperature": 0.9}, False),
        ("sampled with top-k", {"temperature": 1.0, "top_k": 20}, False),
    ]
    made = []
    for source, prompts in (("chat", chat), ("code", code)):
        for i, (name, options, has_one_answer) in enumerate(kinds):
            body = {
                "messages": [{"role": "user", "content": next(prompts).text}],
                "max_tokens": TOKENS,
                "temperature": 0.0,
                "return_token_ids": True,
                "stream": i % 2 == (source == "code"),
            }
            made.append(Case(f"{source}: {name}", body | options, has_one_answer))
    return made


def long_case(number: int) -> Case:
    """A request that takes a large part of the KV cache."""
    text = f"Go on with this list. {number}: " + ", ".join(str(7 * i + number) for i in range(150))
    body = {"messages": [{"role": "user", "content": text}], "max_tokens": 250, "temperature": 0.0, "ignore_eos": True}
    return Case(f"long {number}", body | {"return_token_ids": True}, has_one_answer=False)


async def ask(session: aiohttp.ClientSession, base_url: str, model: str, case: Case) -> Answer:
    """The answer.

    Raises:
        Lost: there was none, or not a whole one.

    """
    try:
        async with asyncio.timeout(TIMEOUT_S):
            async with session.post(f"{base_url}/v1/chat/completions", json={"model": model, **case.body}) as response:
                if response.status != 200:
                    raise Lost(f"{case.name}: http {response.status}: {(await response.text())[:200]}")
                if case.body.get("stream"):
                    return await _streamed(case, response)
                choice = (await response.json())["choices"][0]
        return Answer(tuple(choice["token_ids"]), choice["message"]["content"] or "", choice["finish_reason"])
    except (aiohttp.ClientError, TimeoutError, KeyError, ValueError) as error:
        raise Lost(f"{case.name}: {type(error).__name__}: {error}") from error


async def _streamed(case: Case, response: aiohttp.ClientResponse) -> Answer:
    parser, token_ids, text, finish_reason, done = EventParser(), [], "", None, False
    async for received in response.content.iter_any():
        for event in parser.feed(received):
            if event == "[DONE]":
                done = True
                continue
            chunk = json.loads(event)
            if "error" in chunk:
                raise Lost(f"{case.name}: {chunk['error']}")
            for choice in chunk["choices"]:
                token_ids += choice.get("token_ids") or []
                text += choice["delta"].get("content") or ""
                finish_reason = choice["finish_reason"] or finish_reason
    if not done or finish_reason is None:
        raise Lost(f"{case.name}: the stream ended early")
    return Answer(tuple(token_ids), text, finish_reason)


class Lost(Exception):
    """A request without a whole answer; the message says which and why."""


@dataclass
class Tally:
    """What became of the requests.

    Attributes:
        sent, finished, aborted: counts; aborted ones were given up by the client on purpose.
        lost, differing: what should never be, described.
        finished_by_phase: finished requests by the fault that was on.

    """

    sent: int = 0
    finished: int = 0
    aborted: int = 0
    lost: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    finished_by_phase: Counter[str] = field(default_factory=Counter)


class Traffic:
    """Clients that ask one request after another until they are stopped.

    Args:
        base_url, model: the server.
        expected: the right answers; cases that are not among them may be answered in any way.

    """

    def __init__(self, base_url: str, model: str, expected: dict[str, Answer]) -> None:
        self._base_url, self._model, self._expected = base_url, model, expected
        self._random = random.Random(1)
        self.phase = "none"
        self.tally = Tally()

    async def run(self, session: aiohttp.ClientSession, made: Sequence[Case], stop: asyncio.Event) -> None:
        """One client."""
        while not stop.is_set():
            await self.ask_once(session, self._random.choice(made))

    async def ask_once(self, session: aiohttp.ClientSession, case: Case) -> None:
        """Send a request, and compare its answer."""
        tally, phase = self.tally, self.phase
        tally.sent += 1
        try:
            if self._random.random() < ABORTED_SHARE:
                await asyncio.wait_for(ask(session, self._base_url, self._model, case), self._random.uniform(0.05, 1.5))
            else:
                answer = await ask(session, self._base_url, self._model, case)
                expected = self._expected.get(case.name, answer)
                if answer != expected:
                    tally.differing.append(f"{case.name} ({phase}): {answer} instead of {expected}")
        except TimeoutError:
            tally.aborted += 1
            return
        except Lost as lost:
            tally.lost.append(f"{lost} ({phase})")
            return
        tally.finished += 1
        tally.finished_by_phase[phase] += 1
