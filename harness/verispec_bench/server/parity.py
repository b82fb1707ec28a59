"""Are two servers the same but for speculation? Their settings are compared as read back; few may differ."""

import json
from typing import Any

from verispec.settings import DISABLE_VARIABLE
from verispec_bench.server.readback import Readback

_FITS = "what fits into the same cache memory: a draft model keeps keys and values too (see max_feasible_batch)"
MAY_DIFFER = {
    "vllm_config.speculative_config": "this is what is compared",
    "vllm_config.additional_config.verispec": "the plugin's settings",
    "vllm_config.instance_id": "a random name",
    "vllm_config.model_config.seed": "independent samples need random numbers of their own",
    "vllm_config.observability_config.per_request_spec_decode_metrics": "refused without speculation",
    "vllm_config.scheduler_config.max_num_scheduled_tokens": "vLLM sets it to max_num_batched_tokens under speculation",
    "vllm_config.parallel_config.disable_nccl_for_dp_synchronization": "set by vLLM; only for data parallelism",
    "vllm_env.VLLM_OBJECT_STORAGE_SHM_BUFFER_NAME": "a random name",
    "vllm_config.cache_config.num_gpu_blocks": _FITS,
    "vllm_config.cache_config.kv_cache_size_tokens": _FITS,
    "vllm_config.cache_config.kv_cache_max_concurrency": _FITS,
}
"""Settings that may differ between a speculative server and its baseline, and why."""


RANDOM = (
    "vllm_config.instance_id",
    "vllm_config.model_config.seed",
    "vllm_env.VLLM_OBJECT_STORAGE_SHM_BUFFER_NAME",
)
"""Settings that differ between any two starts of the same server."""
ENVIRONMENT_MAY_DIFFER = (DISABLE_VARIABLE,)


def differences(baseline: Readback, arm: Readback) -> dict[str, tuple[object, object]]:
    """Settings that differ and must not: {key: (baseline's, arm's)}; empty for a matched pair.

    Values of environment variables are not shown: they may be secrets.
    """
    found = _differing(_facts(baseline.as_dict()), _facts(arm.as_dict()))
    variables = {
        f"environment.{name}": ("(set)" if name in baseline.environment else None, "(other value or unset)")
        for name in _differing(baseline.environment, arm.environment)
        if name not in ENVIRONMENT_MAY_DIFFER
    }
    return {key: values for key, values in found.items() if not _may_differ(key)} | variables


def changed_since(recorded: dict[str, Any], now: Readback) -> list[str]:
    """Keys in which a server differs from its own record of an earlier start."""
    return changed_between(recorded, now.as_dict())


def changed_between(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    """Keys in which two records of a server differ, but for what any start changes."""
    return [key for key in _differing(_facts(first), _facts(second)) if key not in RANDOM]


def _facts(readback: dict[str, Any]) -> dict[str, Any]:
    """Settings and process facts under dotted keys, as they look after a journey through JSON."""
    processes = {f"processes.{key}": value for key, value in readback["processes"].items()}
    facts: dict[str, Any] = json.loads(json.dumps(readback["settings"] | processes, default=str))
    return facts


def _differing(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, tuple[object, object]]:
    keys = sorted(ours.keys() | theirs.keys())
    return {key: (ours.get(key), theirs.get(key)) for key in keys if ours.get(key) != theirs.get(key)}


def _may_differ(key: str) -> bool:
    # An empty mapping is a leaf of its own: {} against {"verispec": …}.
    return key == "vllm_config.additional_config" or any(
        key == allowed or key.startswith(f"{allowed}.") for allowed in MAY_DIFFER
    )
