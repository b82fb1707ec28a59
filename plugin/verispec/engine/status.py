"""The plugin's HTTP surface: status, metrics, and a switch for drafting, asked of the worker processes themselves."""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from verispec.engine import commits, runtime
from verispec.settings import disabled

if TYPE_CHECKING:
    from fastapi import FastAPI

STATUS_PATH = "/verispec/status"
SWITCH_PATH = "/v1/verispec/drafting"
"""Under /v1, so that it asks for the server's API key where there is one."""
_STATUS, _SWITCH, _COMMITS = "verispec_status", "verispec_switch", "verispec_commits"


def add_worker_methods() -> None:
    """Let the engine ask workers by name (EngineClient.collective_rpc); adds, changes nothing."""
    from vllm.v1.worker.worker_base import WorkerBase

    setattr(WorkerBase, _STATUS, lambda self: runtime.status())
    setattr(WorkerBase, _SWITCH, lambda self, on: runtime.switch(on))


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
        from fastapi import APIRouter, Body
        from prometheus_client import REGISTRY

        from verispec.engine.metrics import PluginMetrics, RefreshedMetrics

        router = APIRouter()

        @router.get(STATUS_PATH)
        async def status() -> dict[str, Any]:
            return await self._status()

        @router.post(SWITCH_PATH)
        async def switch(on: Annotated[bool, Body(embed=True, strict=True)]) -> dict[str, Any]:
            return {"workers": await self._ask(_SWITCH, on)}

        app.include_router(router)
        metrics = PluginMetrics(self._status)
        REGISTRY.register(metrics)
        app.add_middleware(RefreshedMetrics, metrics=metrics)

    async def init_state(self, engine_client: Any, state: Any, args: Namespace) -> None:
        """Keep the way to the engine."""
        self._engine_client = engine_client

    async def _status(self) -> dict[str, Any]:
        cores = self._engine_client.engine_core.call_utility_all_async(_COMMITS)
        return {"workers": await self._ask(_STATUS), "commits": await cores}

    async def _ask(self, method: str, *arguments: Any) -> Sequence[dict[str, Any] | None]:
        answers: Sequence[dict[str, Any] | None] = await self._engine_client.collective_rpc(method, args=arguments)
        return answers
