"""The plugin's HTTP surface: status, release manifest, metrics, and a switch for drafting, asked of the processes."""

import asyncio
import json
import logging
import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from verispec.engine import commits, release, runtime
from verispec.settings import Settings, disabled

if TYPE_CHECKING:
    from fastapi import FastAPI

logger = logging.getLogger("vllm.verispec")
STATUS_PATH = "/verispec/status"
MANIFEST_PATH = "/verispec/manifest"
SWITCH_PATH = "/v1/verispec/drafting"
"""Under /v1, so that it asks for the server's API key where there is one."""
_STATUS, _SWITCH, _MANIFEST, _COMMITS = "verispec_status", "verispec_switch", "verispec_manifest", "verispec_commits"
_READING_S = 0.2
"""Time between two questions while the model's files are being read."""


class NotActiveError(RuntimeError):
    """A worker process in which verispec is not active."""


class DisagreementError(RuntimeError):
    """Worker processes that serve different things."""


def add_worker_methods() -> None:
    """Let the engine ask workers by name (EngineClient.collective_rpc); adds, changes nothing."""
    from vllm.v1.worker.worker_base import WorkerBase

    setattr(WorkerBase, _STATUS, lambda self: runtime.status())
    setattr(WorkerBase, _SWITCH, lambda self, on: runtime.switch(on))
    setattr(WorkerBase, _MANIFEST, release.manifest_of)


def add_engine_method() -> None:
    """Let the engine cores be asked (AsyncMPClient.call_utility_all_async); adds, changes nothing."""
    from vllm.v1.engine.core import EngineCore

    setattr(EngineCore, _COMMITS, lambda self: commits.status())


class StatusEndpoint:
    """An endpoint plugin (vllm.plugins.endpoint_plugins.interface), loaded if VLLM_PLUGINS names verispec."""

    name = "verispec"
    required_tasks = ("generate",)

    def attach_router(self, app: "FastAPI") -> None:
        """Add the routes, and the plugin's part of /metrics, unless the plugin is disabled."""
        if disabled():
            return
        from fastapi import APIRouter, Body, HTTPException
        from prometheus_client import REGISTRY

        from verispec.engine.metrics import PluginMetrics, RefreshedMetrics

        router = APIRouter()

        @router.get(STATUS_PATH)
        async def status() -> dict[str, Any]:
            return await self._status()

        @router.post(SWITCH_PATH)
        async def switch(on: Annotated[bool, Body(embed=True, strict=True)]) -> dict[str, Any]:
            workers = await self._ask(_SWITCH, on)
            if None in workers:
                raise HTTPException(409, "there is no drafting on this server that verispec could switch")
            return {"workers": workers}

        @router.get(MANIFEST_PATH)
        async def manifest() -> dict[str, Any]:
            try:
                return await self._manifest()
            except NotActiveError as error:
                raise HTTPException(404, str(error)) from error
            except DisagreementError as error:
                raise HTTPException(409, str(error)) from error

        app.include_router(router)
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            logger.warning("verispec: with several API servers its metrics are not in /metrics; see %s", STATUS_PATH)
        metrics = PluginMetrics(self._status)
        REGISTRY.register(metrics)
        app.add_middleware(RefreshedMetrics, metrics=metrics)

    async def init_state(self, engine_client: Any, state: Any, args: Namespace) -> None:
        """Keep the way to the engine, and write the manifest if the settings say where."""
        self._engine_client = engine_client
        if disabled():
            return
        settings = Settings.from_additional_config(engine_client.vllm_config.additional_config)
        if settings.manifest:
            self._writing = asyncio.create_task(self._write_manifest(Path(settings.manifest).expanduser()))

    async def _status(self) -> dict[str, Any]:
        cores = self._engine_client.engine_core.call_utility_all_async(_COMMITS)
        workers, commits_ = await asyncio.gather(self._ask(_STATUS), cores)
        return {"workers": workers, "commits": commits_}

    async def _ask(self, method: str, *arguments: Any) -> Sequence[dict[str, Any] | None]:
        """Of the workers of all engines (EngineClient.collective_rpc asks the first engine alone)."""
        ask = self._engine_client.engine_core.call_utility_all_async
        return [worker for engine in await ask("collective_rpc", method, None, arguments, None) for worker in engine]

    async def _manifest(self) -> dict[str, Any]:
        """The manifest that all workers agree on, once they have read the model's files.

        Raises:
            NotActiveError, DisagreementError: there is none.

        """
        while not all(workers := await self._ask(_MANIFEST)):
            if None in workers:
                raise NotActiveError("verispec is not active in the worker process")
            await asyncio.sleep(_READING_S)
        first, *others = (worker or {} for worker in workers)
        if any(worker["contract_sha256"] != first["contract_sha256"] for worker in others):
            raise DisagreementError("the worker processes do not agree on what they serve")
        return first

    async def _write_manifest(self, path: Path) -> None:
        try:
            text = json.dumps(await self._manifest(), indent=2, allow_nan=False) + "\n"
            scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            scratch.write_text(text, encoding="utf-8")
            scratch.replace(path)
        except Exception as error:  # the server serves without it
            logger.error("verispec: the release manifest is not written: %s", error)
