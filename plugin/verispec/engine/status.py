"""`GET /verispec/status`, `GET /verispec/manifest`: what the plugin does and what is served, asked of the workers."""

import asyncio
import json
import logging
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verispec.engine import release, runtime
from verispec.settings import Settings, disabled

if TYPE_CHECKING:
    from fastapi import FastAPI

logger = logging.getLogger("vllm.verispec")
PATH = "/verispec/status"
MANIFEST_PATH = "/verispec/manifest"
_WORKER_METHOD = "verispec_status"
_MANIFEST_METHOD = "verispec_manifest"
_READING_S = 0.2
"""Time between two questions while the model's files are being read."""


class NotActiveError(RuntimeError):
    """A worker process in which verispec is not active."""


class DisagreementError(RuntimeError):
    """Worker processes that serve different things."""


def add_worker_methods() -> None:
    """Let the engine ask workers by name (EngineClient.collective_rpc); adds, changes nothing."""
    from vllm.v1.worker.worker_base import WorkerBase

    setattr(WorkerBase, _WORKER_METHOD, lambda self: runtime.status())
    setattr(WorkerBase, _MANIFEST_METHOD, release.manifest_of)


class StatusEndpoint:
    """An endpoint plugin (vllm.plugins.endpoint_plugins.interface), loaded if VLLM_PLUGINS names verispec."""

    name = "verispec"
    required_tasks = ("generate",)

    def attach_router(self, app: "FastAPI") -> None:
        """Add the routes, unless the plugin is disabled."""
        if disabled():
            return
        from fastapi import APIRouter, HTTPException

        router = APIRouter()

        @router.get(PATH)
        async def status() -> dict[str, Any]:
            return {"workers": await self._engine_client.collective_rpc(_WORKER_METHOD)}

        @router.get(MANIFEST_PATH)
        async def manifest() -> dict[str, Any]:
            try:
                return await self._manifest()
            except NotActiveError as error:
                raise HTTPException(404, str(error)) from error
            except DisagreementError as error:
                raise HTTPException(409, str(error)) from error

        app.include_router(router)

    async def init_state(self, engine_client: Any, state: Any, args: Namespace) -> None:
        """Keep the way to the engine, and write the manifest if the settings say where."""
        self._engine_client = engine_client
        if disabled():
            return
        settings = Settings.from_additional_config(engine_client.vllm_config.additional_config)
        if settings.manifest:
            self._writing = asyncio.create_task(self._write_manifest(Path(settings.manifest).expanduser()))

    async def _manifest(self) -> dict[str, Any]:
        """The manifest that all workers agree on, once they have read the model's files.

        Raises:
            NotActiveError, DisagreementError: there is none.

        """
        while True:
            workers = await self._engine_client.collective_rpc(_MANIFEST_METHOD)
            if None in workers:
                raise NotActiveError("verispec is not active in the worker process")
            if all(workers):
                break
            await asyncio.sleep(_READING_S)
        first: dict[str, Any] = workers[0]
        if any(worker["contract_sha256"] != first["contract_sha256"] for worker in workers):
            raise DisagreementError("the worker processes do not agree on what they serve")
        return first

    async def _write_manifest(self, path: Path) -> None:
        try:
            text = json.dumps(await self._manifest(), indent=2, allow_nan=False) + "\n"
            scratch = path.with_name(f".{path.name}.tmp")
            scratch.write_text(text, encoding="utf-8")
            scratch.replace(path)
        except (NotActiveError, DisagreementError, OSError) as error:
            logger.error("verispec: the release manifest is not written: %s", error)
