"""What is refused where a speculative model runner is built, and what is left alone."""

from dataclasses import asdict
from types import SimpleNamespace

import pytest

from verispec.engine import commits, install, release, runtime, seams
from verispec.engine.seams import Seam, SeamError

OURS = "verispec.engine.Proposer"


def config(model=OURS, additional=None, speculative=True, v2=False, world_size=1, replicas=1):
    method = "custom_class" if model == OURS else model
    return SimpleNamespace(
        speculative_config=SimpleNamespace(model=model, method=method) if speculative else None,
        additional_config=additional if additional is not None else {},
        use_v2_model_runner=v2,
        parallel_config=SimpleNamespace(world_size=world_size, data_parallel_size=replicas),
        scheduler_config=SimpleNamespace(async_scheduling=False),
    )


@pytest.fixture(autouse=True)
def vllm_as_it_was(monkeypatch):
    """Undo every replacement, and the runtime."""
    monkeypatch.setattr(runtime, "_current", None)
    monkeypatch.setattr(release, "_current", None)
    monkeypatch.setattr(install, "identity", lambda vllm_config: {"model": "fake"})
    yield
    for seam in (*seams.SEAMS, seams.RUNNER_V2_INIT):
        if seam.active:
            owner, name = seam._owner()
            setattr(owner, name, seam.check())


def test_installing_puts_every_adapter_in_place():
    install.install(config())
    install.install_scheduler()
    assert [seam for seam in seams.SEAMS if seam.active] == [*seams.SPECULATIVE_SEAMS, *seams.SCHEDULER_SEAMS]
    assert runtime.current().settings.rule == "token"


def test_unusable_settings_are_refused_before_anything_is_replaced():
    with pytest.raises(ValueError, match=r"verispec\.ruel"):
        install.install(config(additional={"verispec": {"ruel": "token"}}))
    assert not any(seam.active for seam in seams.SEAMS)


def test_a_changed_signature_is_refused_before_anything_is_replaced(monkeypatch):
    changed = Seam("draft-room", seams.FITS.module, seams.FITS.attribute, ("self", "renamed"), why="", removed_when="")
    monkeypatch.setattr(seams, "SPECULATIVE_SEAMS", (seams.RULE, changed))
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


def test_a_runner_without_speculation_that_names_verispec_draws_seeded_requests_by_their_keys(monkeypatch):
    built(V1, monkeypatch, config(speculative=False, additional={"verispec": {}}), install.watch_model_runner)
    assert [seam for seam in seams.SPECULATIVE_SEAMS if seam.active] == list(seams.KEYED_SEAMS)


def test_a_runner_without_speculation_may_be_counted_and_left_alone(monkeypatch):
    additional = {"verispec": {"counters_only": True}}
    built(V1, monkeypatch, config(speculative=False, additional=additional), install.watch_model_runner)
    assert [seam for seam in seams.SPECULATIVE_SEAMS if seam.active] == list(seams.TIMING_SEAMS)
    with pytest.raises(ValueError, match=r"verispec\.counters_only: is for a server without --speculative-config"):
        install.install(config(additional=additional))


def refuses_min_p(monkeypatch, vllm_config) -> bool:
    """Whether an input processor still knows that the server speculates: it refuses min_p and logit_bias then."""
    from vllm.v1.engine.input_processor import InputProcessor

    def __init__(self, vllm_config):
        self.speculative_config = vllm_config.speculative_config
        self.validate_logits_processors_params = lambda params: None

    monkeypatch.setattr(InputProcessor, "__init__", __init__)
    install.watch_input_processor()
    return InputProcessor(vllm_config).speculative_config is not None


@pytest.mark.parametrize("vllm_config", [config(), config("ngram", {"verispec": {}})])
def test_min_p_and_logit_bias_are_let_through_where_verispec_serves_them(monkeypatch, vllm_config):
    assert not refuses_min_p(monkeypatch, vllm_config)


@pytest.mark.parametrize("vllm_config", [config("ngram"), config(v2=True), config("eagle", {"verispec": {}})])
def test_min_p_and_logit_bias_are_refused_where_verispec_was_not_asked_for_or_cannot_serve(monkeypatch, vllm_config):
    assert refuses_min_p(monkeypatch, vllm_config)


def test_a_speculative_runner_installs_the_seams(monkeypatch):
    assert built(V1, monkeypatch, config("ngram"), install.watch_model_runner)
    assert seams.RULE.active


@pytest.mark.parametrize(
    "vllm_config",
    [config(), config("eagle", {"verispec": {}}), config(speculative=False, additional={"verispec": {}})],
)
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


def test_parallel_workers_are_refused_where_verispec_is_asked_for(monkeypatch):
    with pytest.raises(SeamError, match="verispec verifies in one process"):
        built(V1, monkeypatch, config(world_size=2), install.watch_model_runner)
    assert not seams.RULE.active


def test_other_servers_with_parallel_workers_are_left_alone(monkeypatch):
    assert built(V1, monkeypatch, config("eagle", world_size=2), install.watch_model_runner)
    assert not seams.RULE.active


def test_what_a_speculative_server_would_get_wrong_is_refused_before_it_reaches_the_engine(monkeypatch):
    from vllm import SamplingParams
    from vllm.v1.engine.input_processor import InputProcessor

    def __init__(self, vllm_config):
        self.speculative_config = vllm_config.speculative_config
        self.validate_logits_processors_params = lambda params: None

    monkeypatch.setattr(InputProcessor, "__init__", __init__)
    install.watch_input_processor()
    validate = InputProcessor(config()).validate_logits_processors_params
    validate(SamplingParams(extra_args={"verispec": "off"}))
    with pytest.raises(ValueError, match=r"vllm_xargs\.verispec is 'never'"):
        validate(SamplingParams(extra_args={"verispec": "never"}))
    with pytest.raises(ValueError, match="logprob_token_ids: lost in steps with drafts"):
        validate(SamplingParams(logprob_token_ids=[3]))


@pytest.mark.parametrize(
    ("vllm_config", "counted"),
    [
        (config("ngram"), True),
        (config(speculative=False), False),
        (config(v2=True), False),
        (config(world_size=2), False),
        (config(replicas=2), True),
        (config("eagle", replicas=2), False),
    ],
)
def test_commits_are_counted_where_a_scheduler_has_drafts_that_verispec_verifies(monkeypatch, vllm_config, counted):
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.engine.core import EngineCore

    def __init__(self, vllm_config):
        pass

    monkeypatch.setattr(Scheduler, "__init__", __init__)
    monkeypatch.setattr(commits, "_watch", None)
    install.watch_scheduler()
    Scheduler(vllm_config)
    assert seams.COMMIT.active is counted
    assert EngineCore.verispec_commits(None) == (asdict(commits.Commits()) if counted else None)
