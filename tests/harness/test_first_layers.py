"""Draft models of a model's first layers: what they keep, and that they are made once."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from verispec_bench import model
from verispec_bench.errors import InfrastructureFailed, UnusableInput
from verispec_bench.first_layers import write_first_layers

LAYERS = 12


@pytest.fixture
def source(tmp_path):
    """A model of twelve layers, its tensors of different types and sizes."""
    directory = tmp_path / "target"
    directory.mkdir()
    tensors = {
        f"model.layers.{layer}.mlp.up_proj.weight": np.full((2, layer + 1), layer, np.float16)
        for layer in range(LAYERS)
    }
    tensors |= {"model.embed_tokens.weight": np.arange(6, dtype=np.float32), "model.norm.weight": np.ones(3, np.uint8)}
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    config = {"num_hidden_layers": LAYERS, "layer_types": ["full"] * LAYERS, "vocab_size": 6}
    (directory / "config.json").write_text(json.dumps(config))
    (directory / "tokenizer.json").write_text("{}")
    return directory


def test_the_first_layers_are_kept_with_all_that_is_in_no_layer(source, tmp_path):
    draft = tmp_path / "draft"
    write_first_layers(source, 2, draft)
    before, kept = load_file(source / "model.safetensors"), load_file(draft / "model.safetensors")
    assert set(kept) == {name for name in before if "layers" not in name} | {
        f"model.layers.{layer}.mlp.up_proj.weight"
        for layer in (0, 1)  # and not layers 10 and 11
    }
    for name, tensor in kept.items():
        assert tensor.dtype == before[name].dtype
        np.testing.assert_array_equal(tensor, before[name])
    assert json.loads((draft / "config.json").read_text()) == {
        "num_hidden_layers": 2,
        "layer_types": ["full", "full"],
        "vocab_size": 6,
    }
    assert (draft / "tokenizer.json").read_text() == "{}"


@pytest.mark.parametrize("layers", [0, LAYERS])
def test_a_draft_model_has_fewer_layers_than_its_target(source, tmp_path, layers):
    with pytest.raises(UnusableInput, match=f"has 12 layers; a draft model can have 1 to 11 of them, not {layers}"):
        write_first_layers(source, layers, tmp_path / "draft")
    assert not (tmp_path / "draft").exists()


@pytest.fixture
def default_model(source, tmp_path, monkeypatch):
    """The model of twelve layers in place of the default model."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    model.default_model_path().parent.mkdir(parents=True)
    source.rename(model.default_model_path())
    return model.default_model_path()


def test_a_name_makes_it_once(default_model, monkeypatch):
    path = model.resolve_model("smollm2-135m-first-4-layers")
    assert len(load_file(f"{path}/model.safetensors")) == 4 + 2
    monkeypatch.setattr(model, "write_first_layers", lambda *args: pytest.fail("made again"))
    assert model.resolve_model("smollm2-135m-first-4-layers") == path


def test_what_could_not_be_made_leaves_nothing(default_model):
    with pytest.raises(UnusableInput, match="not 30"):
        model.resolve_model("smollm2-135m-first-30-layers")
    assert list(default_model.parent.iterdir()) == [default_model]


def test_a_cache_that_cannot_be_written_is_named(default_model, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(model, "write_first_layers", full)
    with pytest.raises(InfrastructureFailed, match=r"first-4-layers.*could not be put there: .*No space left"):
        model.resolve_model("smollm2-135m-first-4-layers")


def test_the_default_model_must_have_been_fetched(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(UnusableInput, match="run: verispec fetch-model"):
        model.resolve_model("smollm2-135m-first-4-layers")
