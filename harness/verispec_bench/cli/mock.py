"""`mock-server`: a server of known timing, to test load generators with."""

import asyncio
import json
import os
from typing import Annotated

import typer

from verispec_bench.cli.app import app, out, run, say
from verispec_bench.mock import Fault, MockSettings


@app.command("mock-server")
def mock_server(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: a free one.")] = 8000,
    host: Annotated[str, typer.Option(help="Where it listens.")] = "127.0.0.1",
    model: Annotated[str, typer.Option(help="Served model id.")] = "mock",
    ttft_ms: Annotated[float, typer.Option(help="Time to the first chunk.")] = 200.0,
    tokens_per_second: Annotated[float, typer.Option(help="Of each stream.")] = 20.0,
    tokens_per_chunk: Annotated[int, typer.Option(help="Tokens that come together.")] = 1,
    jitter: Annotated[float, typer.Option(help="Coefficient of variation of TTFT and gaps; 0: exact.")] = 0.0,
    output_len: Annotated[int, typer.Option(help="Tokens of an answer whose request has no max_tokens.")] = 64,
    error_rate: Annotated[float, typer.Option(help="Share of requests that fail.")] = 0.0,
    error_kind: Annotated[Fault, typer.Option(help="How they fail.")] = Fault.HTTP_503,
    max_running: Annotated[int | None, typer.Option(help="Further requests wait; default: no limit.")] = None,
    seed: Annotated[int, typer.Option(help="Of jitter and faults.")] = 0,
    json_line: Annotated[bool, typer.Option("--json-line", help="Say that it is ready in a line of JSON.")] = False,
) -> None:
    """An OpenAI-compatible server of known timing and faults, until Ctrl-C; GET /mock/timing has its own error."""
    from verispec_bench.mock.server import serve

    settings = MockSettings(
        model=model,
        ttft_ms=ttft_ms,
        tokens_per_second=tokens_per_second,
        tokens_per_chunk=tokens_per_chunk,
        jitter=jitter,
        output_len=output_len,
        error_rate=error_rate,
        error_kind=error_kind,
        max_running=max_running,
        seed=seed,
    )

    async def until_interrupted() -> None:
        async with serve(settings, host, port) as (_, url):
            ready = json.dumps({"url": url, "model": model, "pid": os.getpid()})
            say(ready if json_line else f"mock-server is ready at {url} (Ctrl-C ends it)", out)
            await asyncio.Event().wait()

    run(until_interrupted())
