"""One request on the wire: the bytes of its answer, and the kind of every fault. Nothing is sent twice."""

import asyncio
import errno

from verispec_bench.client.http import CannotConnect, Connections, NotHttp, OnBytes, Response
from verispec_bench.client.request import Call

_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.ENOBUFS)


async def exchange(connections: Connections, call: Call, timeout_s: float, on_bytes: OnBytes) -> str | None:
    """Post once and hand over each piece of the body as it arrives.

    Args:
        timeout_s: after this long the exchange has failed.
        on_bytes: called with each piece of a body with status 200, and time.perf_counter() at its arrival.

    Returns:
        None if the body ended as HTTP says it should, else the fault: "kind: message".

    """
    try:
        async with asyncio.timeout(timeout_s):
            response = await connections.post(call.path, call.body, on_bytes)
    except TimeoutError:
        return f"timeout: no end after {timeout_s:g} s"
    except CannotConnect as error:
        return f"{_connection_fault(error.__cause__)}: {error}"
    except NotHttp as error:
        return f"not http: {error}"
    except OSError as error:
        return f"reset: {type(error).__name__}: {error}"
    return None if response.status == 200 else _refusal(response)


def _refusal(response: Response) -> str:
    text = response.refusal.decode("utf-8", "replace").strip()[:300]
    after = response.headers.get(b"retry-after", b"").decode("latin-1")
    return f"http {response.status}: {text or 'no reason given'}" + (f" (Retry-After: {after})" if after else "")


def _connection_fault(cause: BaseException | None) -> str:
    if isinstance(cause, ConnectionRefusedError):
        return "refused"
    return "client" if isinstance(cause, OSError) and cause.errno in _EXHAUSTED else "unreachable"
