"""Two servers are matched if their settings, as read back, differ only where they may."""

import pytest

from verispec_bench.server import Readback, differences

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


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("vllm_config.cache_config.enable_prefix_caching", False),
        ("vllm_config.scheduler_config.async_scheduling", True),
        ("vllm_config.additional_config.other", 1),
        ("vllm_config.speculative_configuration", 1),
        ("vllm_env.VLLM_CPU_KVCACHE_SPACE", "4"),
    ],
)
def test_anything_else_is_named(key, value):
    assert differences(Readback(BASE, {}), Readback(BASE | {key: value}, {})) == {key: (BASE.get(key), value)}


def test_preloaded_libraries_and_processors_count():
    found = differences(Readback(BASE, {"libraries": ["libiomp5.so"]}), Readback(BASE, {"libraries": []}))
    assert found == {"processes.libraries": (["libiomp5.so"], [])}
