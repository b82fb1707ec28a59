"""Two servers are matched if their settings, as read back, differ only where they may."""

import json

import pytest

from verispec_bench.server import Readback, changed_since, differences

BASE = {"vllm_config.cache_config.enable_prefix_caching": True, "vllm_config.speculative_config": None}


def test_speculation_may_differ():
    arm = {
        "vllm_config.cache_config.enable_prefix_caching": True,
        "vllm_config.speculative_config.method": "custom_class",
        "vllm_config.speculative_config.num_speculative_tokens": 4,
        "vllm_config.additional_config.verispec.rule": "token",
        "vllm_config.instance_id": "2",
    }
    base = BASE | {"vllm_config.additional_config": {}, "vllm_config.instance_id": "1"}
    assert differences(Readback(base, {}), Readback(arm, {})) == {}


def test_a_cache_of_equal_memory_may_hold_fewer_tokens_beside_a_draft_model():
    fits = {f"vllm_config.cache_config.{key}": 182 for key in ("num_gpu_blocks", "kv_cache_size_tokens")}
    assert differences(Readback(BASE | fits, {}), Readback(BASE | dict.fromkeys(fits, 101), {})) == {}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vllm_config.cache_config.num_gpu_blocks_override", 101),
        ("vllm_config.cache_config.enable_prefix_caching", False),
        ("vllm_config.scheduler_config.async_scheduling", True),
        ("vllm_config.additional_config.other", 1),
        ("vllm_config.speculative_configuration", 1),
        ("vllm_env.VLLM_CPU_KVCACHE_SPACE", "4"),
    ],
)
def test_anything_else_is_named(key, value):
    assert differences(Readback(BASE, {}), Readback(BASE | {key: value}, {})) == {key: (BASE.get(key), value)}


def test_a_variable_that_differs_is_named_and_its_value_kept_secret():
    base, arm = (Readback(BASE, {}, environment={"OMP_NUM_THREADS": n, "HF_TOKEN": "s3cret"}) for n in ("1", "2"))
    assert list(differences(base, arm)) == ["environment.OMP_NUM_THREADS"]
    assert "s3cret" not in json.dumps(arm.as_dict())
    switch = Readback(BASE, {}, environment={"VERISPEC_DISABLE": "1"})
    assert differences(switch, Readback(BASE, {}, environment={"VERISPEC_DISABLE": "0"})) == {}


def test_a_later_start_is_compared_with_the_record_of_the_first():
    recorded = json.loads(
        json.dumps(Readback(BASE | {"vllm_config.instance_id": 1}, {"cpu_affinity": [(0, 1)]}).as_dict())
    )
    again = Readback(BASE | {"vllm_config.instance_id": 2}, {"cpu_affinity": [(0, 1)]})
    assert changed_since(recorded, again) == []
    other = Readback(BASE | {"vllm_env.VLLM_CPU_KVCACHE_SPACE": "4"}, {"cpu_affinity": [(0, 1)]})
    assert changed_since(recorded, other) == ["vllm_env.VLLM_CPU_KVCACHE_SPACE"]


def test_preloaded_libraries_and_processors_count():
    found = differences(Readback(BASE, {"libraries": ["libiomp5.so"]}), Readback(BASE, {"libraries": []}))
    assert found == {"processes.libraries": (["libiomp5.so"], [])}
