"""`GET /verispec/status`: what the plugin does in every worker process, asked of the processes themselves."""

from argparse import Namespace
from typing import TYPE_CHECKING, Any

from verispec.engine import runtime
from verispec.settings import disabled

if TYPE_CHECKING:
    from fastapi import FastAPI

PATH = "/verispec/status"
_WORKER_METHOD = "verispec_status"


def add_worker_method() -> None:
    """Let the engine ask workers for their status by name (EngineClient.collective_rpc); adds, changes nothing."""
    from vllm.v1.worker.worker_base import WorkerBase

    setattr(WorkerBase, _WORKER_METHOD, lambda self: runtime.status())


class StatusEndpoint:
    """An endpoint plugin (vllm.plugins.endpoint_plugins.interface), loaded if VLLM_PLUGINS names verispec."""

    name = "verispec"
    required_tasks = ("generate",)

    def attach_router(self, app: "FastAPI") -> None:
        """Add the route, unless the plugin is disabled."""
        if disabled():
            return
        from fastapi import APIRouter

        router = APIRouter()

        @router.get(PATH)
        async def status() -> dict[str, Any]:
            return {"workers": await self._engine_client.collective_rpc(_WORKER_METHOD)}

        app.include_router(router)

    async def init_state(self, engine_client: Any, state: Any, args: Namespace) -> None:
        """Keep the way to the engine."""
        self._engine_client = engine_client
