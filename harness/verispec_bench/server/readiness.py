"""When is a server ready? Its process lives, it is healthy, and it serves our model: on the port that is ours."""

import asyncio
import time
from collections.abc import Callable, Sequence

import aiohttp

from verispec_bench.errors import InfrastructureFailed
from verispec_bench.server.process import ServerProcess

POLL_S = 0.5


async def wait_until_ready(
    servers: Sequence[ServerProcess],
    timeout_s: float,
    on_progress: Callable[[float, str], None] = lambda elapsed_s, waiting_for: None,
) -> None:
    """Wait for all servers at once.

    Args:
        on_progress: called every half second with the seconds that have passed and the servers that are not ready.

    Raises:
        InfrastructureFailed: one died or took too long; its last log lines are in the message.

    """
    start = time.monotonic()
    waiting = list(servers)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=5)) as session:
        while waiting:
            for server in list(waiting):
                ready = await is_ready(session, server)
                if server.died:
                    raise InfrastructureFailed(
                        f"server {server.name} died while starting: {server.last_words()}\n"
                        f"  its last lines ({server.log}):\n{_indent(server.log_tail())}"
                    )
                if ready:
                    waiting.remove(server)
            elapsed = time.monotonic() - start
            if waiting and elapsed > timeout_s:
                server = waiting[0]
                raise InfrastructureFailed(
                    f"server {server.name} is not ready after {timeout_s:g} s (server.start_timeout_s)\n"
                    f"  its last lines ({server.log}):\n{_indent(server.log_tail())}"
                )
            if waiting:
                on_progress(elapsed, ", ".join(server.name for server in waiting))
                await asyncio.sleep(POLL_S)


async def is_gone(server: ServerProcess) -> bool:
    """It has ended, or is ending: asked after a failed request.

    A process closes its connections before it is seen to have ended, and an engine dies before its API server.
    """
    if server.died:
        return True
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session:
        return not await is_ready(session, server)


async def is_ready(session: aiohttp.ClientSession, server: ServerProcess) -> bool:
    """It is healthy and serves our model, now."""
    try:
        async with session.get(f"{server.base_url}/health") as health:
            if health.status != 200:
                return False
        async with session.get(f"{server.base_url}/v1/models") as models:
            served = [model["id"] for model in (await models.json())["data"]]
    except (aiohttp.ClientError, TimeoutError, ValueError, KeyError):
        return False
    return server.command.model in served


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
