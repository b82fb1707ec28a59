"""The servers of a scenario: started, read back, compared, recorded, and ended whatever happens."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import aiohttp

from verispec_bench.errors import InfrastructureFailed, UnusableInput
from verispec_bench.progress import RunProgress
from verispec_bench.record import ResultDirectory
from verispec_bench.release import compare
from verispec_bench.scenario import BASELINE, DEFAULT_BASELINE, Setup
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
from verispec_bench.server.readback import plugin_status


@dataclass(frozen=True)
class Launch:
    """How servers are started, and where what is known of them is kept.

    Attributes:
        scenario: one variant of it.
        results: where logs and read-back settings go.
        kept: the results already hold measurements, so that the servers must be as they were then.
        seeds: of each server's random numbers; default: vLLM's.

    """

    scenario: Setup
    interpreter: Interpreter
    results: ResultDirectory
    progress: RunProgress
    kept: bool
    seeds: dict[str, int] | None = None

    def server(self, arm: str) -> ServerProcess:
        """The server of an arm, not yet started."""
        port = free_port()
        command = server_command(self.scenario, arm, self.interpreter, port, self.seeds[arm] if self.seeds else None)
        return ServerProcess(arm, command, port, self.results.path / "logs" / f"{self.key(arm)}.log")

    def key(self, arm: str) -> str:
        """What the server of an arm is called in the manifest: several variants have one each."""
        axes = self.results.manifest()["identity"]["scenario"].get("axes", {})
        return f"{arm}-{self.scenario.variant}" if any(axes.values()) else arm

    async def wait(self, servers: Iterable[ServerProcess]) -> None:
        """Until they answer."""
        await wait_until_ready(list(servers), self.scenario.server.start_timeout_s, self.progress.starting)

    async def read_back(self, server: ServerProcess, restarted: bool = False) -> Readback:
        """What the server says of itself; kept in the manifest.

        Args:
            server: it is ready.
            restarted: it has measured already, so that it must be as it was then.

        Raises:
            UnusableInput: something has changed since the measurements that are kept.

        """
        self.progress.label(f"reading back the settings of {server.name}")
        found = await read_back(server.base_url, server.pid)
        manifest, key = self.results.manifest(), self.key(server.name)
        recorded = manifest["servers"].get(key)
        must_match = recorded and (self.kept or restarted)
        if must_match and (changed := changed_since(recorded, found) or release_changes(recorded, found.as_dict())):
            raise UnusableInput(
                f"{self.results.path}: server {key} now differs from the one that its runs were made with: "
                f"{', '.join(changed[:5])}; choose another --out"
            )
        kept = {name: recorded[name] for name in ("step_costs",) if recorded and name in recorded}
        manifest["servers"][key] = {"argv": server.command.argv, "env": server.command.env, **found.as_dict(), **kept}
        self.results.write_manifest(manifest)
        return found

    async def keep_costs(self, server: ServerProcess) -> None:
        """Keep in the manifest what the server's steps cost, where its controller has measured them and it answers."""
        try:
            async with aiohttp.ClientSession() as session:
                workers = await plugin_status(session, server.base_url)
        except (aiohttp.ClientError, TimeoutError):
            return
        costs = [worker["control"]["costs"] for worker in workers if worker.get("control")]
        if costs and costs[0]:
            manifest = self.results.manifest()
            manifest["servers"][self.key(server.name)]["step_costs"] = costs[0]
            self.results.write_manifest(manifest)


@asynccontextmanager
async def launched(launch: Launch) -> AsyncIterator[dict[str, ServerProcess]]:
    """All servers at once, by name: the baseline and every arm.

    Raises:
        InfrastructureFailed: a server failed, or the plugin is not active in it.
        UnusableInput: the servers are not a matched pair, or not those of the earlier start.

    """
    with ExitStack() as running:
        servers: dict[str, ServerProcess] = {}
        for arm in launch.scenario.all_arms:
            servers[arm] = running.enter_context(launch.server(arm))
        running.callback(_stop_all, servers, launch.progress)  # all are asked to end before the first is waited for
        await launch.wait(servers.values())
        check_servers(launch.scenario, {arm: await launch.read_back(server) for arm, server in servers.items()})
        yield servers


class Fleet(Protocol):
    """Servers that a sweep can use in turn.

    Attributes:
        start: names this start of the servers; both runs of a pair must have the same.

    """

    start: str

    @property
    def running(self) -> list[ServerProcess]:
        """Those that are up."""

    async def use(self, arm: str) -> ServerProcess:
        """The server of an arm, ready for requests."""


WarmUp = Callable[[ServerProcess], Awaitable[None]]


@asynccontextmanager
async def fleet(launch: Launch, warm_up: WarmUp) -> AsyncIterator[Fleet]:
    """The servers of a scenario, placed as it says; each is warmed up after its start.

    Raises:
        InfrastructureFailed, UnusableInput: as `launched`; where servers alternate, also later.

    """
    if launch.scenario.placement == "alternating":
        async with _Alternating(launch, warm_up) as alternating:
            yield alternating
        return
    async with launched(launch) as servers:
        for arm, server in servers.items():
            launch.progress.label(f"warming up {arm}")
            await warm_up(server)
        launch.progress.label("measuring")
        yield _Resident(servers)


class _Resident:
    """All servers are up."""

    def __init__(self, servers: dict[str, ServerProcess]) -> None:
        self._servers = servers
        self.start = datetime.now(UTC).isoformat(timespec="seconds")

    @property
    def running(self) -> list[ServerProcess]:
        return list(self._servers.values())

    async def use(self, arm: str) -> ServerProcess:
        return self._servers[arm]


class _Alternating:
    """One server is up at a time: the next replaces it."""

    start = "alternating"

    def __init__(self, launch: Launch, warm_up: WarmUp) -> None:
        self._launch = launch
        self._warm_up = warm_up
        self._up: ServerProcess | None = None
        self._readbacks: dict[str, Readback] = {}

    async def __aenter__(self) -> "_Alternating":
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stop()

    @property
    def running(self) -> list[ServerProcess]:
        return [self._up] if self._up else []

    async def use(self, arm: str) -> ServerProcess:
        if self._up is None or self._up.name != arm:
            if BASELINE not in self._readbacks and arm != BASELINE:
                await self._start(BASELINE)  # what the others are compared with
            await self._start(arm)
        assert self._up is not None
        return self._up

    async def _start(self, arm: str) -> None:
        self._stop()
        self._up = self._launch.server(arm).__enter__()
        await self._launch.wait([self._up])
        self._readbacks[arm] = await self._launch.read_back(self._up, restarted=arm in self._readbacks)
        check_servers(self._launch.scenario, self._readbacks)
        self._launch.progress.label(f"warming up {arm}")
        await self._warm_up(self._up)
        self._launch.progress.label("measuring")

    def _stop(self) -> None:
        if self._up:
            self._launch.progress.label(f"stopping {self._up.name}")
            self._up.__exit__(None, None, None)
            self._up = None


def _stop_all(servers: dict[str, ServerProcess], progress: RunProgress) -> None:
    progress.label("stopping the servers")
    for server in servers.values():
        server.begin_stop()


def check_servers(scenario: Setup, readbacks: dict[str, Readback]) -> None:
    """Refuse pairs that differ in more than speculation, and arms in which the plugin is not at work.

    The deployment default may differ: that is why it is there.

    Raises:
        UnusableInput: a setting differs; it is named.
        InfrastructureFailed: no worker process of an arm reports the plugin.

    """
    for arm, readback in readbacks.items():
        unmatched = differences(readbacks[BASELINE], readback)
        if unmatched and arm != DEFAULT_BASELINE:
            listed = "; ".join(f"{key}: {ours!r} against {theirs!r}" for key, (ours, theirs) in unmatched.items())
            raise UnusableInput(
                f"{BASELINE} and {arm} are no matched pair, so comparing them would mean nothing: {listed}"
            )
        spec = scenario.arms.get(arm)
        if spec and spec.plugin:
            workers = readback.plugin
            if not workers or not all("rejection-rule" in worker["seams"] for worker in workers):
                raise InfrastructureFailed(f"server {arm}: verispec is not active in its worker process")
    counting = [worker for worker in readbacks[BASELINE].plugin if "forward-pass" in worker["seams"]]
    if scenario.count_steps and not counting:
        raise InfrastructureFailed(
            f"server {BASELINE}: verispec is not active in its worker process, to count its steps"
        )


def release_changes(recorded: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Keys of the contract in which two records of a server differ: the same settings may load other weights."""
    before, after = recorded.get("release"), now.get("release")
    if not before or not after:
        return []
    return [found.key for found in compare(before, after) if found.defines_contract and found.first != found.second]
