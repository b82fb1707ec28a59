"""What vLLM calls in each of its processes (entry-point group `vllm.general_plugins`)."""

import wrapt

from verispec.settings import disabled


def register() -> None:
    """Arrange for the seams to be installed in processes that build a model runner; cheap, idempotent.

    Nothing of vLLM is imported here: the API server and the engine core pay nothing. VERISPEC_DISABLE=1 leaves vLLM
    untouched.
    """
    if disabled():
        return
    for module, hook in _HOOKS.items():
        if module not in _hooked:
            _hooked.add(module)
            wrapt.register_post_import_hook(hook, module)


def _input_processor(module: object) -> None:
    from verispec.engine.install import watch_input_processor

    watch_input_processor()


def _scheduler(module: object) -> None:
    from verispec.engine.install import watch_scheduler

    watch_scheduler()


def _model_runner_v1(module: object) -> None:
    from verispec.engine.install import watch_model_runner

    watch_model_runner()


def _model_runner_v2(module: object) -> None:
    from verispec.engine.install import watch_model_runner_v2

    watch_model_runner_v2()


_HOOKS = {
    "vllm.v1.engine.input_processor": _input_processor,
    "vllm.v1.core.sched.scheduler": _scheduler,
    "vllm.v1.worker.gpu_model_runner": _model_runner_v1,
    "vllm.v1.worker.gpu.model_runner": _model_runner_v2,
}
_hooked: set[str] = set()
