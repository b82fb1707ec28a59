"""All servers of a scenario: started together, read back, compared, recorded, and ended whatever happens."""

from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import Any

from verispec_bench.errors import InfrastructureFailed, UnusableInput
from verispec_bench.progress import RunProgress
from verispec_bench.record import ResultDirectory
from verispec_bench.release import compare
from verispec_bench.scenario import BASELINE, Setup
from verispec_bench.server import (
    Interpreter,
    Readback,
    ServerProcess,
    changed_since,
    differences,
    free_port,
    read_back,
    server_command,
    wait_until_ready,
)


@asynccontextmanager
async def launched(
    scenario: Setup,
    interpreter: Interpreter,
    results: ResultDirectory,
    progress: RunProgress,
    *,
    kept: bool,
    seeds: dict[str, int] | None = None,
) -> AsyncIterator[dict[str, ServerProcess]]:
    """The servers of the baseline and of every arm, by name.

    Args:
        results: where logs and read-back settings go.
        kept: the results already hold measurements, so that the servers must be as they were then.
        seeds: of each server's random numbers; default: vLLM's.

    Raises:
        InfrastructureFailed: a server failed, or the plugin is not active in it.
        UnusableInput: the servers are not a matched pair, or not those of the earlier start.

    """
    with ExitStack() as running:
        servers: dict[str, ServerProcess] = {}
        for arm in (BASELINE, *scenario.arms):
            port = free_port()
            command = server_command(scenario, arm, interpreter, port, seeds[arm] if seeds else None)
            server = ServerProcess(arm, command, port, results.path / "logs" / f"{arm}.log")
            servers[arm] = running.enter_context(server)
        running.callback(_stop_all, servers, progress)  # all are asked to end before the first is waited for
        await wait_until_ready(list(servers.values()), scenario.server.start_timeout_s, progress.starting)
        readbacks = {}
        for arm, server in servers.items():
            progress.label(f"reading back the settings of {arm}")
            readbacks[arm] = await read_back(server.base_url, server.pid)
        check_servers(scenario, readbacks)
        _record_servers(results, servers, readbacks, kept)
        yield servers


def _stop_all(servers: dict[str, ServerProcess], progress: RunProgress) -> None:
    progress.label("stopping the servers")
    for server in servers.values():
        server.begin_stop()


def check_servers(scenario: Setup, readbacks: dict[str, Readback]) -> None:
    """Refuse pairs that differ in more than speculation, and arms in which the plugin is not at work.

    Raises:
        UnusableInput: a setting differs; it is named.
        InfrastructureFailed: no worker process of an arm reports the plugin.

    """
    for arm, spec in scenario.arms.items():
        unmatched = differences(readbacks[BASELINE], readbacks[arm])
        if unmatched:
            listed = "; ".join(f"{key}: {ours!r} against {theirs!r}" for key, (ours, theirs) in unmatched.items())
            raise UnusableInput(
                f"{BASELINE} and {arm} are no matched pair, so comparing them would mean nothing: {listed}"
            )
        if spec.plugin:
            workers = readbacks[arm].plugin
            if not workers or not all("rejection-rule" in worker["seams"] for worker in workers):
                raise InfrastructureFailed(f"server {arm}: verispec is not active in its worker process")


def _release_changed(recorded: dict[str, Any], now: Readback) -> list[str]:
    """Keys of the contract in which a server differs from its own record: the same settings may load other weights."""
    before = recorded.get("release")
    if not before or not now.release:
        return []
    return [
        found.key for found in compare(before, now.release) if found.defines_contract and found.first != found.second
    ]


def _record_servers(
    results: ResultDirectory, servers: dict[str, ServerProcess], readbacks: dict[str, Readback], kept: bool
) -> None:
    """Keep what was read back; a resumed run must find it unchanged.

    Raises:
        UnusableInput: a setting, or what is served, has changed since the measurements that are kept.

    """
    manifest = results.manifest()
    for arm, recorded in manifest["servers"].items() if kept else ():
        if changed := changed_since(recorded, readbacks[arm]) or _release_changed(recorded, readbacks[arm]):
            raise UnusableInput(
                f"{results.path}: server {arm} now differs from the one that its runs were made with: "
                f"{', '.join(changed[:5])}; choose another --out"
            )
    manifest["servers"] = {
        arm: {"argv": server.command.argv, "env": server.command.env, **readbacks[arm].as_dict()}
        for arm, server in servers.items()
    }
    results.write_manifest(manifest)
