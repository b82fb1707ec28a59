"""A sweep from scenario to summary: servers up, settings read back and compared, blocks run, servers down."""

from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from verispec_bench.errors import InfrastructureFailed, UnusableInput
from verispec_bench.record import ResultDirectory, build_manifest, identity_differences
from verispec_bench.scenario import BASELINE, Scenario
from verispec_bench.server import (
    Interpreter,
    Readback,
    ServerProcess,
    changed_since,
    differences,
    free_port,
    probe_interpreter,
    read_back,
    server_command,
    wait_until_ready,
)
from verispec_bench.sweep.execute import execute, warm_up
from verispec_bench.sweep.plan import PlannedBlock, plan_blocks
from verispec_bench.sweep.progress import SweepProgress
from verispec_bench.sweep.summary import summarise
from verispec_bench.workload import Prompt, load_prompts


@dataclass(frozen=True)
class PreparedSweep:
    """Everything that can be known, and refused, before a server is started."""

    scenario: Scenario
    interpreter: Interpreter
    manifest: dict[str, Any]
    blocks: list[PlannedBlock]
    warmup: dict[str, list[Prompt]]


def prepare(scenario: Scenario, base: Path) -> PreparedSweep:
    """Load prompts, probe the interpreter, build every command once.

    Args:
        base: directory that relative prompt files count from.

    Raises:
        UnusableInput, InfrastructureFailed: what cannot work is refused here, in seconds.

    """
    prompts = {
        workload if isinstance(workload, str) else workload.name: load_prompts(workload, scenario.seed, base)
        for workload in scenario.workloads
    }
    blocks, warmup = plan_blocks(scenario, prompts)
    interpreter = probe_interpreter(scenario.server.python)
    for arm in (BASELINE, *scenario.arms):
        server_command(scenario, arm, interpreter, port=0)
    manifest = build_manifest(scenario, interpreter, prompts)
    return PreparedSweep(scenario, interpreter, manifest, blocks, warmup)


def open_results(sweep: PreparedSweep, path: Path, resume: bool) -> ResultDirectory:
    """A new result directory, or an unfinished one of the same identity.

    Raises:
        UnusableInput: it belongs to another scenario, model, version or machine.

    """
    if not (resume and path.is_dir() and any(path.iterdir())):
        return ResultDirectory.create(path, sweep.manifest)
    results = ResultDirectory.open(path)
    changed = identity_differences(results.manifest()["identity"], sweep.manifest["identity"])
    if changed:
        raise UnusableInput(
            f"{path}: belongs to another sweep, which would be mixed with this one: {', '.join(changed[:5])} "
            f"{'differ' if len(changed) > 1 else 'differs'}; choose another --out"
        )
    results.drop_unfinished()
    return results


async def run_sweep(sweep: PreparedSweep, results: ResultDirectory, console: Console) -> dict[str, Any]:
    """Run what is missing and summarise. Whatever ends it, finished runs are kept and no server is left.

    Raises:
        InfrastructureFailed: a server failed, or the plugin is not active in it.
        UnusableInput: the servers are not a matched pair.

    """
    if results.manifest()["complete"]:
        return summarise(results)
    scenario = sweep.scenario
    total = sum(len(block.attempts[0]) * len(block.arms) for block in sweep.blocks)
    with ExitStack() as running, SweepProgress(console, total) as progress:
        servers: dict[str, ServerProcess] = {}
        for arm in (BASELINE, *scenario.arms):
            port = free_port()
            command = server_command(scenario, arm, sweep.interpreter, port)
            server = ServerProcess(arm, command, port, results.path / "logs" / f"{arm}.log")
            servers[arm] = running.enter_context(server)
        running.callback(_stop_all, servers, progress)  # all are asked to end before the first is waited for
        await wait_until_ready(list(servers.values()), scenario.server.start_timeout_s, progress.starting)
        readbacks = {}
        for arm, server in servers.items():
            progress.label(f"reading back the settings of {arm}")
            readbacks[arm] = await read_back(server.base_url, server.pid)
        check_servers(scenario, readbacks)
        _record_servers(results, servers, readbacks)
        for arm, server in servers.items():
            progress.label(f"warming up {arm}")
            for prompts in sweep.warmup.values():
                await warm_up(scenario, prompts, server)
        progress.label("measuring")
        start = datetime.now(UTC).isoformat(timespec="seconds")
        await execute(scenario, sweep.blocks, servers, results, start, progress.run_done, progress.request_done)
    summary = summarise(results, complete=True)
    results.write_summary(summary)
    results.write_manifest(results.manifest() | {"complete": True})
    return summary


def _stop_all(servers: dict[str, ServerProcess], progress: SweepProgress) -> None:
    progress.label("stopping the servers")
    for server in servers.values():
        server.begin_stop()


def check_servers(scenario: Scenario, readbacks: dict[str, Readback]) -> None:
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
                f"{BASELINE} and {arm} are no matched pair, so their ratio would mean nothing: {listed}"
            )
        if spec.plugin:
            workers = readbacks[arm].plugin
            if not workers or not all("rejection-rule" in worker["seams"] for worker in workers):
                raise InfrastructureFailed(f"server {arm}: verispec is not active in its worker process")


def _record_servers(
    results: ResultDirectory, servers: dict[str, ServerProcess], readbacks: dict[str, Readback]
) -> None:
    """Keep what was read back; a resumed sweep must find it unchanged.

    Raises:
        UnusableInput: a setting has changed since the runs that are kept.

    """
    manifest = results.manifest()
    for arm, recorded in manifest["servers"].items() if results.rows() else ():
        if changed := changed_since(recorded, readbacks[arm]):
            raise UnusableInput(
                f"{results.path}: server {arm} now differs from the one that its runs were made with: "
                f"{', '.join(changed[:5])}; choose another --out"
            )
    manifest["servers"] = {
        arm: {"argv": server.command.argv, "env": server.command.env, **readbacks[arm].as_dict()}
        for arm, server in servers.items()
    }
    results.write_manifest(manifest)
