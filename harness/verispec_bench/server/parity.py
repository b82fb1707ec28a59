"""Are two servers the same but for speculation? Their settings are compared as read back; few may differ."""

from verispec_bench.server.readback import Readback

MAY_DIFFER = {
    "vllm_config.speculative_config": "this is what is compared",
    "vllm_config.additional_config.verispec": "the plugin's settings",
    "vllm_config.instance_id": "a random name",
    "vllm_config.observability_config.per_request_spec_decode_metrics": "refused without speculation",
    "vllm_config.scheduler_config.max_num_scheduled_tokens": "vLLM sets it to max_num_batched_tokens under speculation",
    "vllm_config.parallel_config.disable_nccl_for_dp_synchronization": "set by vLLM; only for data parallelism",
    "vllm_env.VLLM_OBJECT_STORAGE_SHM_BUFFER_NAME": "a random name",
}
"""Settings that may differ between a speculative server and its baseline, and why."""


def differences(baseline: Readback, arm: Readback) -> dict[str, tuple[object, object]]:
    """Settings that differ and must not: {key: (baseline's, arm's)}; empty for a matched pair."""
    ours = baseline.settings | {f"processes.{key}": value for key, value in baseline.processes.items()}
    theirs = arm.settings | {f"processes.{key}": value for key, value in arm.processes.items()}
    return {
        key: (ours.get(key), theirs.get(key))
        for key in sorted(ours.keys() | theirs.keys())
        if ours.get(key) != theirs.get(key) and not _may_differ(key)
    }


def _may_differ(key: str) -> bool:
    # An empty mapping is a leaf of its own: {} against {"verispec": …}.
    return key == "vllm_config.additional_config" or any(
        key == allowed or key.startswith(f"{allowed}.") for allowed in MAY_DIFFER
    )
