"""`serve`: one server of a scenario, by hand."""

import json
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from verispec_bench.cli.app import ScenarioFile, app, err, out, run, say
from verispec_bench.errors import InfrastructureFailed


@app.command()
def serve(
    scenario: ScenarioFile = Path("scenarios/demo.yaml"),
    arm: Annotated[str | None, typer.Option(help="Which speculative arm; default: the scenario's first.")] = None,
    baseline: Annotated[bool, typer.Option("--baseline", help="The matched target-only server.")] = False,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Default: a free one.")] = None,
) -> None:
    """Start one server of a scenario and keep it until Ctrl-C; prints its URL and a curl line."""
    from verispec_bench.scenario import BASELINE, load_setup
    from verispec_bench.server import ServerProcess, free_port, probe_interpreter, server_command, wait_until_ready

    loaded = load_setup(scenario)
    name = BASELINE if baseline else arm or next(iter(loaded.arms), BASELINE)
    listen = free_port(port)
    command = server_command(loaded, name, probe_interpreter(loaded.server.python), listen)
    log = Path("results") / "logs" / f"{loaded.name}-{name}-{listen}.log"
    with ServerProcess(name, command, listen, log) as server, err.status("") as status:

        def progress(elapsed_s: float, waiting_for: str) -> None:
            status.update(escape(f"starting {waiting_for}: {elapsed_s:.0f} s ({log})"))

        run(wait_until_ready([server], loaded.server.start_timeout_s, progress))
        status.stop()
        body = {"model": command.model, "messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 40}
        say(f"{name} is ready at {server.base_url} (Ctrl-C ends it; its log: {log})", out)
        url = f"{server.base_url}/v1/chat/completions"
        say(f"curl {url} -H 'Content-Type: application/json' -d '{json.dumps(body)}'", out)
        while not server.died:
            time.sleep(0.5)
        raise InfrastructureFailed(f"server {name} ended: {server.last_words()}")
