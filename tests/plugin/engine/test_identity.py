"""What step costs depend on is told apart; where the model was read from is not part of it."""

from types import SimpleNamespace

import pytest
import torch

from verispec.engine.identity import identity


def config(path="/models/a", dtype=torch.float32, layers=2, **architecture):
    return SimpleNamespace(
        model_config=SimpleNamespace(
            model=path,
            dtype=dtype,
            quantization=None,
            enforce_eager=False,
            hf_config=SimpleNamespace(
                to_dict=lambda: {"_name_or_path": path, "transformers_version": "5", "layers": layers} | architecture
            ),
        ),
        parallel_config=SimpleNamespace(world_size=1),
        cache_config=SimpleNamespace(cache_dtype="auto"),
    )


def test_it_is_text_and_the_same_for_the_same_engine():
    assert identity(config()) == identity(config())
    assert all(type(value) is str and value for value in identity(config()).values())
    assert identity(config())["model"] == "a"


def test_the_folder_of_the_model_does_not_matter():
    assert identity(config("/elsewhere/a")) == identity(config("/models/a"))


@pytest.mark.parametrize("other", [{"dtype": torch.bfloat16}, {"layers": 3}, {"path": "/models/b"}])
def test_another_engine_has_another(other):
    assert identity(config(**other)) != identity(config())
