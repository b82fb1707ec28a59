"""The settings that a server really runs with, read from the server and its processes, not from its command line."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import psutil

from verispec_bench.errors import InfrastructureFailed
from verispec_bench.release import fetch

PRELOADABLE = ("tcmalloc", "jemalloc", "libiomp", "libgomp")


@dataclass(frozen=True)
class Readback:
    """What was read from one server.

    Attributes:
        settings: vLLM's whole configuration and its variables, keys joined by dots.
        processes: of the server's processes: threads' CPU affinity, preloaded libraries.
        plugin: /verispec/status of each worker; empty where the plugin is disabled.
        release: the server's release manifest, None where the plugin is disabled.
        environment: variables of the server's main process; compared, never written down.

    """

    settings: dict[str, Any]
    processes: dict[str, Any]
    plugin: list[dict[str, Any]] = field(default_factory=list)
    release: dict[str, Any] | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """For the manifest; without the environment, which may hold secrets."""
        return {name: value for name, value in asdict(self).items() if name != "environment"}


async def read_back(base_url: str, pid: int) -> Readback:
    """Read a server's settings; the first call takes seconds, so it comes before anything is measured.

    Raises:
        InfrastructureFailed: the server does not answer.

    """
    try:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
            async with session.get(f"{base_url}/server_info", params={"config_format": "json"}) as response:
                info = await response.json() if response.status == 200 else {}
            plugin = await plugin_status(session, base_url)
            release = await fetch(session, base_url) if plugin else None
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise InfrastructureFailed(f"{base_url}: the server's settings cannot be read back: {error}") from error
    if not info.get("vllm_config"):
        raise InfrastructureFailed(f"{base_url}: the server does not tell its settings (/server_info); is it a vLLM?")
    settings = dict(flatten({name: info.get(name, {}) for name in ("vllm_config", "vllm_env")}))
    return Readback(settings, _processes(pid), plugin, release, _environment(pid))


async def plugin_status(session: aiohttp.ClientSession, base_url: str) -> list[dict[str, Any]]:
    """The plugin's word from every worker process in which it is active."""
    async with session.get(f"{base_url}/verispec/status") as response:
        if response.status != 200:
            return []
        return [worker for worker in (await response.json())["workers"] if worker]


def flatten(value: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, leaf) of nested mappings."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from flatten(inner, f"{prefix}.{key}" if prefix else str(key))
    else:
        yield prefix, value


def _processes(pid: int) -> dict[str, Any]:
    """Facts that vLLM does not report, of the server's main process and its descendants together."""
    libraries: set[str] = set()
    affinity: set[tuple[int, ...]] = set()
    try:
        main = psutil.Process(pid)
        family = [main, *main.children(recursive=True)]
    except psutil.Error:
        return {}
    for process in family:
        try:
            cpus, maps = tuple(process.cpu_affinity()), process.memory_maps()
        except psutil.NoSuchProcess:
            continue  # a helper that has ended since it was listed
        except psutil.Error:
            return {}
        affinity.add(cpus)
        names = {Path(region.path).name for region in maps if region.path.endswith((".so", ".so.4"))}
        libraries |= {name for name in names if any(part in name for part in PRELOADABLE)}
    return {"libraries": sorted(libraries), "cpu_affinity": sorted(affinity)}


def _environment(pid: int) -> dict[str, str]:
    try:
        return psutil.Process(pid).environ()
    except psutil.Error:
        return {}
