"""A sweep spread over the nodes of a Ray cluster: cells are dealt to nodes, and the same records come back.

Both servers of a pair run on the same node, so that a ratio never compares two machines. Every node must be like the
others: the same processor, model, versions and sources, as the manifest says; else cells of one sweep would not belong
together.
"""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from verispec_bench.client import RequestRecord
from verispec_bench.errors import InfrastructureFailed, UnusableInput, VerispecError
from verispec_bench.launch import release_changes
from verispec_bench.progress import RunProgress
from verispec_bench.record import ResultDirectory, Run
from verispec_bench.record.manifest import identity_differences
from verispec_bench.scenario import Scenario
from verispec_bench.server.parity import changed_between
from verispec_bench.sweep.part import PreparedSweep, prepare, run_part
from verispec_bench.sweep.progress import run_line
from verispec_bench.sweep.slo import SEARCH
from verispec_bench.sweep.sweep import finish

POLL_S = 0.2
LOG_CHARS = 200_000
"""Of each server's log, what comes back from a node."""
TRAVELLING = ("VLLM_", "HF_", "VERISPEC_")
"""Variables that begin so are set on the nodes as they are here: commands and servers depend on them."""
Kept = tuple[Run, dict[str, Any], list[dict[str, Any]]]
"""A finished run: its row, its records."""


@dataclass(frozen=True)
class Part:
    """What a node is told; plain data, so that it can travel.

    Attributes:
        scenario: as loaded.
        base: directory that relative prompt files count from, on every node.
        identity: of the sweep; the node must come to the same.
        cells: ids of the cells to run.
        kept: runs of these cells that are there already.

    """

    scenario: dict[str, Any]
    base: str
    identity: dict[str, Any]
    cells: list[str]
    kept: list[Kept]


@dataclass(frozen=True)
class Outcome:
    """What a node says when its part has ended.

    Attributes:
        node: its name.
        logs: what its servers wrote, by file name; the last of it, if it is long.
        servers: what they said of themselves.
        fault: exit code and message; None: all went well.

    """

    node: str
    logs: dict[str, str]
    servers: dict[str, Any]
    fault: tuple[int, str] | None

    def raise_fault(self) -> None:
        """As the error that it was."""
        if self.fault is not None:
            code, message = self.fault
            raise (UnusableInput if code == UnusableInput.exit_code else InfrastructureFailed)(message)


def run_on_ray(
    sweep: PreparedSweep,
    base: Path,
    results: ResultDirectory,
    console: Console,
    *,
    address: str | None = None,
    resources: dict[str, float] | None = None,
) -> dict[str, Any]:
    """Run what is missing on a cluster's nodes, and summarise.

    Args:
        address: of the cluster; None: as Ray finds it.
        resources: what the servers of one comparison need on a node, in Ray's names; default: all CPUs of a node like
            this one.

    Raises:
        InfrastructureFailed: Ray is not there, a node failed, or no node has these resources.
        UnusableInput: a node differs from this machine.

    """
    ray = _ray()
    variables = {name: value for name, value in os.environ.items() if name.startswith(TRAVELLING)}
    try:
        ray.init(address=address, log_to_driver=False, runtime_env={"env_vars": variables})
    except (ValueError, TypeError) as error:
        raise UnusableInput(f"--ray-address {address}: {str(error).splitlines()[0]}") from error
    needed = resources or {"CPU": float(sweep.manifest["identity"]["machine"]["cpus"])}
    nodes = _nodes_with(ray, needed)
    if not nodes:
        raise InfrastructureFailed(f"no node of the Ray cluster has {_said(needed)}; see: ray status")
    parts = _parts(sweep, base, results, len(nodes))
    with RunProgress(console, sweep.requests) as progress:
        progress.say(f"{len(parts)} parts on {len(nodes)} nodes with {_said(needed)} each")
        _collect(ray, parts, needed, results, progress)
    results.arrange([cell for part in parts for cell in part.cells])
    return finish(results)


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise InfrastructureFailed("--executor ray needs Ray; run: pip install 'verispec[ray]'") from error
    return ray


def _nodes_with(ray: Any, needed: dict[str, float]) -> list[dict[str, Any]]:
    return [
        node
        for node in ray.nodes()
        if node["Alive"] and all(node["Resources"].get(name, 0) >= amount for name, amount in needed.items())
    ]


def _said(resources: dict[str, float]) -> str:
    return ", ".join(f"{amount:g} {name}" for name, amount in resources.items())


def _parts(sweep: PreparedSweep, base: Path, results: ResultDirectory, count: int) -> list[Part]:
    """Cells that share servers stay together as far as there are nodes to keep busy."""
    cells = list(dict.fromkeys(block.cell.id for block in sweep.plan.blocks))
    cells += [planned.cell.id for planned in sweep.plan.searches]
    share = -(-len(cells) // count)
    records = results.records()
    parts = []
    for dealt in (cells[i : i + share] for i in range(0, len(cells), share)):
        kept = [
            (Run(row["cell"], int(row["block"]), int(row["attempt"]), row["arm"]), row, _plain(records[row["run"]]))
            for row in results.rows()
            if (row.get(SEARCH) or row["cell"]) in dealt
        ]
        scenario = sweep.scenario.model_dump(mode="json")
        parts.append(Part(scenario, str(base.resolve()), sweep.manifest["identity"], dealt, kept))
    return parts


def _collect(
    ray: Any, parts: Sequence[Part], needed: dict[str, float], results: ResultDirectory, progress: RunProgress
) -> None:
    """Runs are kept as they come, so that whatever ends the sweep, it can be gone on with."""
    from ray.util.queue import Queue

    finished = Queue(actor_options={"num_cpus": 0})
    options = {
        "num_cpus": needed.get("CPU", 0),
        "num_gpus": needed.get("GPU", 0),
        "resources": {name: amount for name, amount in needed.items() if name not in ("CPU", "GPU")},
        "scheduling_strategy": "SPREAD",
        "max_retries": 0,
    }
    task = ray.remote(**options)(_run_on_node)
    running = [task.remote(part, finished) for part in parts]
    try:
        while running:
            ended, running = ray.wait(running, num_returns=1, timeout=POLL_S)
            while not finished.empty():
                _keep(finished.get(), results, progress)
            for part in ended:
                outcome = _outcome_of(ray, part)
                _keep_logs(results, outcome)
                outcome.raise_fault()
                _merge_servers(results, outcome.servers)
    finally:
        for part in running:
            ray.cancel(part)
        finished.shutdown()


def _outcome_of(ray: Any, part: Any) -> Outcome:
    try:
        outcome: Outcome = ray.get(part)
    except ray.exceptions.RayError as error:
        said = [line for line in str(error).splitlines() if line.strip()]
        raise InfrastructureFailed(f"a node of the Ray cluster failed: {said[-1].strip()}") from error
    return outcome


def _keep_logs(results: ResultDirectory, outcome: Outcome) -> None:
    for name, text in outcome.logs.items():
        path = results.path / "logs" / f"{outcome.node}-{name}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _keep(kept: Kept, results: ResultDirectory, progress: RunProgress) -> None:
    run, row, records = kept
    results.add_run(run, row, [RequestRecord(**record) for record in records])
    progress.say(run_line(run, row))
    for _ in records:
        progress.request_done()


def _merge_servers(results: ResultDirectory, servers: dict[str, Any]) -> None:
    """What the nodes' servers say of themselves, which must be the same everywhere but for what any start changes."""
    manifest = results.manifest()
    for key, server in servers.items():
        before = manifest["servers"].setdefault(key, server)
        if changed := changed_between(before, server) or release_changes(before, server):
            raise UnusableInput(f"server {key} differs between the nodes: {', '.join(changed[:5])}")
    results.write_manifest(manifest)


def _plain(records: Sequence[RequestRecord]) -> list[dict[str, Any]]:
    return [asdict(record) for record in records]


def _run_on_node(part: Part, finished: Any) -> Outcome:
    """On a node: run a part in a directory of its own."""
    import socket

    import uvloop

    node, servers, fault = socket.gethostname(), {}, None
    with tempfile.TemporaryDirectory(prefix="verispec-") as scratch:
        path = Path(scratch) / "part"
        try:
            sweep = prepare(Scenario.model_validate(part.scenario), Path(part.base))
            if differing := identity_differences(part.identity, sweep.manifest["identity"]):
                raise UnusableInput(f"differs from the machine of the sweep: {', '.join(differing[:5])}")
            results = ResultDirectory.create(path, sweep.manifest)
            for run, row, records in part.kept:
                results.add_run(run, row, [RequestRecord(**record) for record in records])

            def send(run: Run, row: dict[str, Any]) -> None:
                finished.put((run, results.row(run), _plain(results.records()[run.id])))

            with RunProgress(Console(quiet=True), 0) as progress:
                uvloop.run(run_part(sweep, results, progress, set(part.cells), send))
            servers = results.manifest()["servers"]
        except VerispecError as error:
            fault = error.exit_code, f"node {node}: {error}".replace(f"{path / 'logs'}/", f"logs/{node}-")
        logs = {log.name: log.read_text(errors="replace")[-LOG_CHARS:] for log in (path / "logs").glob("*.log")}
    return Outcome(node, logs, servers, fault)
