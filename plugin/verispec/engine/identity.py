"""What the costs of steps depend on: a calibration of another identity is none."""

import os
import platform
from pathlib import Path
from typing import Any

from verispec.release.digest import value_digest


def identity(vllm_config: Any) -> dict[str, str]:
    """Model, numerics, software and machine of this process, by name."""
    import torch
    import vllm
    from vllm.platforms import current_platform

    model, parallel = vllm_config.model_config, vllm_config.parallel_config
    architecture = {
        k: v for k, v in model.hf_config.to_dict().items() if k not in ("_name_or_path", "transformers_version")
    }
    device = processor() if current_platform.is_cpu() else str(current_platform.get_device_name())
    return {
        "model": Path(model.model).name,
        "architecture": value_digest(architecture)[:16],
        "dtype": str(model.dtype).removeprefix("torch."),
        "quantization": str(model.quantization),
        "kv_cache_dtype": str(vllm_config.cache_config.cache_dtype),
        "eager": str(model.enforce_eager),
        "devices": str(parallel.world_size),
        "device": device,
        "threads": str(torch.get_num_threads() if current_platform.is_cpu() else "any"),
        "vllm": str(vllm.__version__),
        "torch": str(torch.__version__),
    }


def processor() -> str:
    """Its name, and how many cores of it there are."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.processor() or platform.machine()}, {os.cpu_count()} cores"
