"""What is refused where a speculative model runner is built, and what is left alone."""

from types import SimpleNamespace

import pytest
import torch

from verispec.engine import install, runtime, seams
from verispec.engine.seams import Seam, SeamError

OURS = "verispec.engine.Proposer"


def config(model=OURS, additional=None, speculative=True):
    return SimpleNamespace(
        speculative_config=SimpleNamespace(model=model) if speculative else None,
        additional_config=additional if additional is not None else {},
    )


@pytest.fixture(autouse=True)
def vllm_as_it_was(monkeypatch):
    """Undo every replacement, and the runtime."""
    monkeypatch.setattr(runtime, "_current", None)
    yield
    for seam in (*seams.SEAMS, seams.RUNNER_V2_INIT):
        if seam.active:
            owner, name = seam._owner()
            setattr(owner, name, seam.check())


def test_installing_puts_every_adapter_in_place():
    install.install(config())
    assert {seam.name for seam in seams.SEAMS if seam.active} == {s.name for s in seams.SEAMS} - {"model-runner"}
    assert runtime.current().settings.rule == "token"


def test_unusable_settings_are_refused_before_anything_is_replaced():
    with pytest.raises(ValueError, match=r"verispec\.ruel"):
        install.install(config(additional={"verispec": {"ruel": "token"}}))
    assert not any(seam.active for seam in seams.SEAMS)


def test_a_changed_signature_is_refused_before_anything_is_replaced(monkeypatch):
    changed = Seam("draft-room", seams.FITS.module, seams.FITS.attribute, ("self", "renamed"), why="", removed_when="")
    monkeypatch.setattr(seams, "SEAMS", (seams.RULE, changed))
    with pytest.raises(SeamError, match=r"seam 'draft-room': .*_input_fits_in_drafter takes"):
        install.install(config())
    assert not seams.RULE.active


def test_another_vllm_is_refused(monkeypatch):
    import vllm

    monkeypatch.setattr(vllm, "__version_tuple__", (0, 20, 0))
    with pytest.raises(SeamError, match="is not supported"):
        install.install(config())


def built(module_path, monkeypatch, vllm_config, watch):
    """Build a model runner whose own constructor does nothing; what it was called with."""
    import importlib

    runner = importlib.import_module(module_path).GPUModelRunner
    calls = []

    def __init__(self, vllm_config, device):
        calls.append(vllm_config)

    monkeypatch.setattr(runner, "__init__", __init__)
    watch()
    runner(vllm_config, "cpu")
    return calls


V1, V2 = "vllm.v1.worker.gpu_model_runner", "vllm.v1.worker.gpu.model_runner"


def test_a_runner_without_speculation_leaves_vllm_untouched(monkeypatch):
    assert built(V1, monkeypatch, config(speculative=False), install.watch_model_runner)
    assert not any(seam.active for seam in seams.SEAMS if seam is not seams.RUNNER_INIT)
    assert runtime.status() is None


def test_a_speculative_runner_installs_the_seams(monkeypatch):
    assert built(V1, monkeypatch, config("ngram"), install.watch_model_runner)
    assert seams.RULE.active


@pytest.mark.parametrize("vllm_config", [config(), config("eagle", {"verispec": {}})])
def test_model_runner_v2_is_refused_where_verispec_is_asked_for(monkeypatch, vllm_config):
    with pytest.raises(SeamError, match=r"'model-runner-v2'.*set VLLM_USE_V2_MODEL_RUNNER=0"):
        built(V2, monkeypatch, vllm_config, install.watch_model_runner_v2)


@pytest.mark.parametrize("vllm_config", [config("eagle"), config(speculative=False)])
def test_other_servers_on_model_runner_v2_are_left_alone(monkeypatch, vllm_config):
    assert built(V2, monkeypatch, vllm_config, install.watch_model_runner_v2)


def test_a_changed_constructor_hurts_only_servers_that_ask_for_verispec(monkeypatch):
    changed = Seam("model-runner", seams.RUNNER_INIT.module, "GPUModelRunner.__init__", ("other",), "", "")
    monkeypatch.setattr(seams, "RUNNER_INIT", changed)
    monkeypatch.setattr(runtime, "_refusal", None)
    install.watch_model_runner()
    with pytest.raises(SeamError, match="seam 'model-runner'"):
        runtime.current()


def test_drafts_of_vllms_drafters_are_point_masses_under_a_grammar():
    grammar, free = (
        SimpleNamespace(sampling_params=SimpleNamespace(structured_outputs=value)) for value in ({"regex": "a"}, None)
    )
    runner = SimpleNamespace(
        input_batch=SimpleNamespace(req_ids=["a", "b", "c"]), requests={"a": free, "b": grammar, "c": free}
    )
    metadata = SimpleNamespace(num_draft_tokens=[1, 2, 0], draft_token_ids=torch.tensor([1, 2, 3]))
    assert install._rows_under_grammar(runner, metadata).tolist() == [False, True, True]


@pytest.mark.parametrize(("max_spec_len", "kept"), [(0, False), (3, True)])
def test_a_step_without_drafts_is_sampled_as_an_ordinary_one(max_spec_len, kept):
    sample = install._sample_ordinarily(lambda self, logits, spec_decode_metadata: spec_decode_metadata)
    metadata = SimpleNamespace(max_spec_len=max_spec_len)
    assert (sample(None, None, metadata) is metadata) is kept
    assert sample(None, None, None) is None
