"""Short completions of few prompts, many at a time: token ids, and what was drafted for them."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from verispec_bench.client import Target
from verispec_bench.scenario import SamplingParameters


@dataclass(frozen=True)
class Completion:
    """One completion.

    Attributes:
        prompt: index of its prompt.
        token_ids: its tokens.
        rounds: steps that verified a draft, as vLLM counts them (a prompt whose last token alone is outside the prefix
            cache is padded with drafts of -1, and counts as a round); 0 on a server that does not speculate.
        draft_tokens, accepted_tokens: in these rounds, some past the completion's end.

    """

    prompt: int
    token_ids: list[int]
    rounds: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0

    @property
    def drafted_positions(self) -> int:
        """Tokens after the first that came from rounds with a draft: kept drafts, repairs, bonus tokens."""
        return min(len(self.token_ids) - 1, self.rounds + self.accepted_tokens)


class CompletionFailed(Exception):
    """The server did not answer as asked; the message says what it did."""


async def complete(
    target: Target,
    prompts: Sequence[str],
    count: int,
    sampling: SamplingParameters,
    tokens: int,
    *,
    concurrency: int,
    timeout_s: float,
    on_done: Callable[[], None] = lambda: None,
) -> list[Completion]:
    """Continue the prompts in turn until there are `count` completions of exactly `tokens` tokens.

    Raises:
        CompletionFailed: one failed; the others are given up.

    """
    body = {
        "model": target.model,
        "max_tokens": tokens,
        **sampling.model_dump(),
        "ignore_eos": True,  # the end of a text is a token like any other here: its probability is compared as well
        "return_token_ids": True,
    }
    slots = asyncio.Semaphore(concurrency)
    timeout = aiohttp.ClientTimeout(total=None, sock_read=timeout_s)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:

        async def one(index: int) -> Completion:
            async with slots:
                prompt = index % len(prompts)
                answer = await _post(session, f"{target.base_url}/v1/completions", body | {"prompt": prompts[prompt]})
            on_done()
            return _completion(prompt, answer, tokens)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(index)) for index in range(count)]
        except* CompletionFailed as failures:
            raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


async def _post(session: aiohttp.ClientSession, url: str, body: dict[str, Any]) -> dict[str, Any]:
    try:
        async with session.post(url, json=body) as response:
            if response.status != 200:
                raise CompletionFailed(f"http {response.status}: {(await response.text())[:300]}")
            answer: dict[str, Any] = await response.json()
            return answer
    except TimeoutError as error:
        raise CompletionFailed("timeout: the server did not answer") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise CompletionFailed(f"{type(error).__name__}: {error}") from error


def _completion(prompt: int, answer: dict[str, Any], tokens: int) -> Completion:
    try:
        token_ids = answer["choices"][0]["token_ids"]
        metrics = (answer.get("metrics") or {}).get("speculative_decoding") or {}
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise CompletionFailed(f"the answer is no completion: {str(answer)[:200]}") from error
    if not isinstance(token_ids, list) or len(token_ids) != tokens:
        raise CompletionFailed(f"asked for {tokens} tokens with their ids, the answer holds {str(token_ids)[:100]}")
    counts = (int(metrics.get(key) or 0) for key in _COUNTS)
    return Completion(prompt, token_ids, *counts)


_COUNTS = ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")
