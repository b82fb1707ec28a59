"""A server's files: names without their paths, contents read beside the engine, vocabularies that must agree."""

import threading
import time
from types import SimpleNamespace

import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from verispec.engine import model_files
from verispec.engine.model_files import ModelFiles, another_vocabulary, local_name, revision_of


def model(directory, tokens="abc", weights=b"w"):
    """A directory with weights and a tokenizer, and its ModelConfig."""
    directory.mkdir()
    (directory / "model.safetensors").write_bytes(weights)
    tokenizer = Tokenizer(models.WordLevel({token: i for i, token in enumerate(tokens)}, unk_token=tokens[0]))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token=tokens[0]).save_pretrained(directory)
    return SimpleNamespace(
        model=str(directory),
        tokenizer=str(directory),
        revision=None,
        tokenizer_revision=None,
        tokenizer_mode="auto",
        trust_remote_code=False,
        skip_tokenizer_init=False,
        generation_config="auto",
        override_generation_config={"eos_token_id": 2},
        try_get_generation_config=lambda: {"eos_token_id": 1, "temperature": 0.6},
        get_diff_sampling_param=lambda: {"temperature": 0.6},
    )


def config(target, draft=None, **changes):
    speculative = SimpleNamespace(
        method="draft_model",
        target_model_config=target,
        draft_model_config=draft,
        draft_load_config=None,
        use_heterogeneous_vocab=False,
    )
    vars(speculative).update(changes)
    return SimpleNamespace(
        model_config=target,
        load_config=SimpleNamespace(load_format="auto", download_dir=None),
        speculative_config=speculative if draft else None,
    )


def contents(vllm_config):
    return finished(ModelFiles(vllm_config))


def finished(files):
    until = time.monotonic() + 60
    while (found := files.contents()) is None:
        assert time.monotonic() < until
        time.sleep(0.01)
    return found


def test_another_vocabulary_of_the_draft_model_is_found_with_both_facts(tmp_path):
    target, draft = model(tmp_path / "target"), model(tmp_path / "draft", tokens="axcd")
    message = another_vocabulary(config(target, draft))
    assert "draft model draft" in message
    assert "(4 tokens)" in message
    assert "target target (3 tokens)" in message
    assert "id 1 is 'x' for the draft and 'b' for the target" in message
    assert str(tmp_path) not in message


def test_a_draft_model_with_the_targets_vocabulary_is_none_other(tmp_path):
    target, draft = model(tmp_path / "target"), model(tmp_path / "draft", weights=b"d")
    assert another_vocabulary(config(target, draft)) is None
    found = contents(config(target, draft))
    assert found.vocabulary == found.draft_vocabulary
    assert found.weights != found.draft_weights
    assert found.vocab_size == 3


@pytest.mark.parametrize("changes", [{"use_heterogeneous_vocab": True}, {"method": "eagle"}])
def test_only_a_draft_model_that_must_share_the_vocabulary_is_asked(tmp_path, changes):
    target, draft = model(tmp_path / "target"), model(tmp_path / "draft", tokens="xyz")
    assert another_vocabulary(config(target, draft, **changes)) is None


def test_a_draft_model_without_a_tokenizer_is_not_known(tmp_path):
    target, draft = model(tmp_path / "target"), model(tmp_path / "draft")
    for path in (tmp_path / "draft").glob("*token*"):
        path.unlink()
    assert another_vocabulary(config(target, draft)) is None
    assert contents(config(target, draft)).draft_vocabulary is None


def test_files_are_read_once_and_beside_the_engine(tmp_path, monkeypatch):
    go, reads = threading.Event(), []
    monkeypatch.setattr(model_files, "weight_files", lambda directory: reads.append(go.wait(60)) or [])
    files = ModelFiles(config(model(tmp_path / "target")))
    assert files.contents() is None
    assert files.contents() is None
    go.set()
    found = finished(files)
    assert found.vocab_size == 3
    assert finished(files) is found
    assert reads == [True]


def test_dummy_weights_and_missing_tokenizers_have_no_digest(tmp_path):
    target = model(tmp_path / "target")
    target.skip_tokenizer_init = True
    vllm_config = config(target)
    vllm_config.load_config.load_format = "dummy"
    found = contents(vllm_config)
    assert (found.weights, found.tokenizer, found.vocabulary) == (None, None, None)


def test_sampling_defaults_are_those_that_vllm_applies(tmp_path):
    target = model(tmp_path / "target")
    found = contents(config(target)).sampling_defaults
    assert (found.source, found.parameters, found.eos_token_id) == ("auto", {"temperature": 0.6}, 2)
    target.generation_config, target.override_generation_config = "vllm", {}
    assert contents(config(target)).sampling_defaults.eos_token_id is None


def test_a_chat_template_is_part_of_the_tokenizer(tmp_path):
    target = model(tmp_path / "target")
    before = contents(config(target))
    (tmp_path / "target" / "chat_template.jinja").write_text("{{ messages }}")
    after = contents(config(target))
    assert after.tokenizer != before.tokenizer
    assert after.vocabulary == before.vocabulary


@pytest.mark.parametrize(
    ("model_path", "name"),
    [
        ("owner/name", "owner/name"),
        ("/home/someone/models/mine", "mine"),
        ("/home/someone/hub/models--owner--name/snapshots/0f3a", "owner/name"),
    ],
)
def test_a_name_tells_nothing_of_the_place(model_path, name):
    assert local_name(model_path) == name


def test_the_revision_of_a_hub_model_is_its_commit(tmp_path):
    snapshot = tmp_path / "models--owner--name" / "snapshots" / "0f3a"
    snapshot.mkdir(parents=True)
    assert revision_of(str(snapshot), "main") == "0f3a"
    assert revision_of(str(tmp_path), None) is None
