"""One HTTP exchange: the bytes of the answer with their times, and the kind of every fault. Nothing is sent twice."""

import asyncio
import errno
import resource
from collections.abc import Callable

import aiohttp
from yarl import URL

from verispec_bench.client.request import Call

_IDLE_S = 4
"""Connections that were idle for longer are not used again: uvicorn closes its own after 5 s, maybe as we send."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS)


def open_session() -> aiohttp.ClientSession:
    """A session without limits of its own on connections, files or time, and without the environment's proxy."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=None, keepalive_timeout=_IDLE_S),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=None),
        headers={"Content-Type": "application/json", "Accept-Encoding": "identity"},
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
    )


async def exchange(
    session: aiohttp.ClientSession, url: URL, call: Call, timeout_s: float, on_bytes: Callable[[bytes], None]
) -> str | None:
    """Post once and hand over each piece of the body as it arrives.

    Args:
        timeout_s: after this long the exchange has failed.
        on_bytes: called with each piece of a body with status 200.

    Returns:
        None if the body ended as HTTP says it should, else the fault: "kind: message".

    """
    try:
        async with (
            asyncio.timeout(timeout_s),
            session.post(url, data=call.body, allow_redirects=False) as response,
        ):
            if response.status != 200:
                return await _refusal(response)
            async for piece in response.content.iter_any():
                on_bytes(piece)
    except TimeoutError:
        return f"timeout: no end after {timeout_s:g} s"
    except aiohttp.ClientConnectorError as error:
        return f"{_connection_fault(error)}: {error}"
    except (aiohttp.ClientError, OSError) as error:
        return f"reset: {type(error).__name__}: {error}"
    return None


async def _refusal(response: aiohttp.ClientResponse) -> str:
    text = (await response.text(errors="replace"))[:300]
    after = response.headers.get("Retry-After")
    return f"http {response.status}: {text or response.reason}" + (f" (Retry-After: {after})" if after else "")


def _connection_fault(error: aiohttp.ClientConnectorError) -> str:
    if error.os_error.errno == errno.ECONNREFUSED:
        return "refused"
    return "client" if error.os_error.errno in _EXHAUSTED else "unreachable"
