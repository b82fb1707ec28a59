"""Requests whose answers are whole JSON objects, a fixed number in flight."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import aiohttp

from verispec_bench.client import Target

T = TypeVar("T")
Json = dict[str, Any]
Request = tuple[str, Json]
"""Path after the server's address, and body without the model."""


class RequestFailed(Exception):
    """The server did not answer as asked; the message says what it did."""


async def post_all(
    target: Target,
    requests: Sequence[Request],
    read: Callable[[int, Json], T],
    *,
    concurrency: int,
    timeout_s: float,
    on_done: Callable[[], None] = lambda: None,
) -> list[T]:
    """Send every request once.

    Args:
        read: what is kept of an answer, given the request's index; it may raise RequestFailed.
        on_done: called after each answer.

    Returns:
        One value for each request, in the order of the requests.

    Raises:
        RequestFailed: one failed; the others are given up.

    """
    slots = asyncio.Semaphore(concurrency)
    timeout = aiohttp.ClientTimeout(total=None, sock_read=timeout_s)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:

        async def one(index: int, path: str, body: Json) -> T:
            async with slots:
                answer = await _post(session, f"{target.base_url}{path}", {"model": target.model} | body)
            kept = read(index, answer)
            on_done()
            return kept

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(index, *request)) for index, request in enumerate(requests)]
        except* RequestFailed as failures:
            raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


async def _post(session: aiohttp.ClientSession, url: str, body: Json) -> Json:
    try:
        async with session.post(url, json=body) as response:
            if response.status != 200:
                raise RequestFailed(f"http {response.status}: {(await response.text())[:300]}")
            answer: Json = await response.json()
            return answer
    except TimeoutError as error:
        raise RequestFailed("timeout: the server did not answer") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise RequestFailed(f"{type(error).__name__}: {error}") from error


def drafting_counts(answer: Json) -> tuple[int, int, int]:
    """Rounds with a draft, drafted and accepted tokens, as vLLM's per-request metrics count them; 0 without any."""
    metrics = (answer.get("metrics") or {}).get("speculative_decoding") or {}
    rounds, drafted, accepted = (int(metrics.get(key) or 0) for key in _COUNTS)
    return rounds, drafted, accepted


_COUNTS = ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")
