"""Gathers a worker's release manifest from its own configuration, model runner and seams."""

import logging
import math
import platform
from collections.abc import Mapping
from dataclasses import fields
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch

from verispec.coupling import RULES
from verispec.engine import logits_processors, seams
from verispec.engine.identity import processor
from verispec.engine.model_files import (
    Contents,
    ModelFiles,
    another_vocabulary,
    draft_model_config,
    local_name,
    revision_of,
)
from verispec.redaction import for_all_eyes
from verispec.release import Evidence, Manifest
from verispec.release.digest import value_digest
from verispec.release.facts import (
    DefinedBy,
    Drafter,
    LogitsProcessors,
    Model,
    Numerics,
    Target,
    Tokenizer,
    Verifier,
    Versions,
)
from verispec.release.manifest import Machine, Serving
from verispec.settings import PROPOSER_PATH, Settings

logger = logging.getLogger("vllm.verispec")
_BUILTIN_PROCESSORS = "vllm.v1.sample.logits_processor.builtin."
_OF_THE_PLACE = ("_name_or_path", "transformers_version")
"""Keys of a model's configuration that say where it was read and by what, not what it is."""
_NOT_OPTIONS = ("method", "num_speculative_tokens", "rejection_sample_method")
"""Fields of vLLM's SpeculativeConfig that have a place of their own in the manifest."""


class Release:
    """Tells what this process serves.

    Args:
        vllm_config: vLLM's VllmConfig.
        settings: the plugin's.
        named: the server's settings name verispec.

    Raises:
        ValueError: a draft model with another vocabulary, or evidence that cannot be used.

    """

    def __init__(self, vllm_config: Any, settings: Settings, named: bool) -> None:
        if differs := another_vocabulary(vllm_config):
            if named:
                raise ValueError(differs)
            logger.warning("verispec: %s", differs)
        self._vllm_config, self._settings, self._named = vllm_config, settings, named
        try:
            self._evidence = Evidence.read(settings.evidence) if settings.evidence else None
        except ValueError as error:
            raise ValueError(f"--additional-config: verispec.evidence: {error}") from error
        self._files = ModelFiles(vllm_config)
        self._made: Manifest | None = None

    def manifest(self, runner: Any) -> Manifest | None:
        """The manifest of a model runner, made once; None while the model's files are being read."""
        contents = None if self._made else self._files.contents()
        if contents:
            self._made = gather(self._vllm_config, runner, self._settings, contents, self._evidence, named=self._named)
        return self._made


_current: Release | None = None


def start(vllm_config: Any, settings: Settings, named: bool) -> None:
    """Make this process's release; raises as Release does."""
    global _current
    _current = Release(vllm_config, settings, named)


def manifest_of(worker: Any) -> dict[str, Any] | None:
    """What a worker process answers: None where verispec is not active, {} while the model's files are being read."""
    if _current is None:
        return None
    manifest = _current.manifest(worker.model_runner)
    return manifest.as_dict() if manifest else {}


def gather(
    vllm_config: Any,
    runner: Any,
    settings: Settings,
    contents: Contents,
    evidence: Evidence | None = None,
    *,
    named: bool = True,
) -> Manifest:
    """The manifest that configuration, model runner and files make."""
    facts = DefinedBy(
        target=_target(vllm_config, contents),
        tokenizer=_tokenizer(vllm_config.model_config, contents),
        sampling_defaults=contents.sampling_defaults,
        logits_processors=_logits_processors(vllm_config.speculative_config, runner, named),
        drafter=_drafter(vllm_config, settings, contents),
        verifier=_verifier(vllm_config, settings),
        seams=_seams(),
        numerics=_numerics(vllm_config, runner),
        versions=_versions(),
    )
    scheduler, cache = vllm_config.scheduler_config, vllm_config.cache_config
    serving = Serving(
        max_num_seqs=scheduler.max_num_seqs,
        max_num_batched_tokens=scheduler.max_num_batched_tokens,
        block_size=cache.block_size,
        prefix_caching=bool(cache.enable_prefix_caching),
        chunked_prefill=bool(scheduler.enable_chunked_prefill),
        async_scheduling=bool(scheduler.async_scheduling),
    )
    return Manifest.of(facts, serving, _machine(), evidence)


def _target(vllm_config: Any, contents: Contents) -> Target:
    config = vllm_config.model_config
    model = _model(config, contents.weights, contents.vocabulary)
    return Target(**model.model_dump(), max_model_len=config.max_model_len, lora=vllm_config.lora_config is not None)


def _model(config: Any, weights: str | None, vocabulary: str | None) -> Model:
    return Model(
        name=local_name(config.model),
        revision=revision_of(config.model, config.revision),
        weights_sha256=weights,
        config_sha256=value_digest(_plain(config.hf_config.to_dict(), left_out=_OF_THE_PLACE)),
        vocab_size=config.get_vocab_size(),
        vocabulary_sha256=vocabulary,
    )


def _tokenizer(config: Any, contents: Contents) -> Tokenizer | None:
    if config.skip_tokenizer_init:
        return None
    return Tokenizer(
        name=local_name(config.tokenizer),
        revision=revision_of(config.tokenizer, config.tokenizer_revision),
        sha256=contents.tokenizer,
        vocab_size=contents.vocab_size,
    )


def _logits_processors(speculative: Any, runner: Any, named: bool) -> LogitsProcessors:
    loaded = tuple(_path(type(processor)) for processor in runner.input_batch.logitsprocs.all)
    return LogitsProcessors(
        loaded=loaded,
        custom=tuple(name for name in loaded if not name.startswith(_BUILTIN_PROCESSORS)),
        all_accepted=speculative is None or (named and logits_processors.can_serve_all(speculative)),
    )


def _drafter(vllm_config: Any, settings: Settings, contents: Contents) -> Drafter | None:
    speculative, draft = vllm_config.speculative_config, draft_model_config(vllm_config)
    if speculative is None:
        return None
    if speculative.model == PROPOSER_PATH:
        method, name, options = "verispec", settings.drafter, settings.drafter_options
    else:
        method, name, options = speculative.method, local_name(speculative.model or ""), _non_default(speculative)
    return Drafter(
        method=method,
        name=None if name in ("", method) else name,
        options=for_all_eyes(options),
        num_speculative_tokens=speculative.num_speculative_tokens,
        model=_model(draft, contents.draft_weights, contents.draft_vocabulary) if draft else None,
    )


def _non_default(speculative: Any) -> dict[str, Any]:
    """The scalar settings of vLLM's SpeculativeConfig that differ from its defaults."""
    found = {field.name: getattr(speculative, field.name) for field in fields(speculative) if field.name != "model"}
    defaults = {field.name: field.default for field in fields(speculative)}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, str | int | float | list) and value != defaults[name] and name not in _NOT_OPTIONS
    }


def _verifier(vllm_config: Any, settings: Settings) -> Verifier:
    from vllm.v1.sample import rejection_sampler

    speculative = vllm_config.speculative_config
    return Verifier(
        rule=settings.rule,
        rule_is_exact=RULES[settings.rule].exact,
        function=_path(rejection_sampler.rejection_sample),
        sample_method=speculative.rejection_sample_method if speculative else "standard",
        sources_sha256=_sources_digest(),
    )


def _sources_digest() -> str:
    root = Path(str(files("verispec")))
    paths = [path for package in ("coupling", "engine") for path in sorted((root / package).rglob("*.py"))]
    return value_digest({str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in paths})


def _seams() -> dict[str, str]:
    """Those of the worker process; the others belong to the API server and the engine core."""
    worker = (seams.RUNNER_INIT, *seams.SPECULATIVE_SEAMS)
    return {seam.name: f"{seam.module}.{seam.attribute}" for seam in worker if seam.active}


def _numerics(vllm_config: Any, runner: Any) -> Numerics:
    model, compilation, parallel = vllm_config.model_config, vllm_config.compilation_config, vllm_config.parallel_config
    return Numerics(
        dtype=str(model.dtype).removeprefix("torch."),
        quantization=model.quantization,
        kv_cache_dtype=str(vllm_config.cache_config.cache_dtype),
        compilation=getattr(compilation.mode, "name", None),
        cuda_graphs=getattr(compilation.cudagraph_mode, "name", None),
        attention_backends=tuple(sorted({g.backend.get_name() for groups in runner.attn_groups for g in groups})),
        device=str(vllm_config.device_config.device_type),
        tensor_parallel_size=parallel.tensor_parallel_size,
        pipeline_parallel_size=parallel.pipeline_parallel_size,
    )


def _versions() -> Versions:
    import transformers
    import vllm

    return Versions(
        vllm=vllm.__version__,
        torch=str(torch.__version__),
        transformers=transformers.__version__,
        verispec=version("verispec"),
    )


def _machine() -> Machine:
    from vllm.platforms import current_platform

    name = current_platform.get_device_name()
    return Machine(
        device_name=name if name and name != "cpu" else processor(),
        threads=torch.get_num_threads(),
        python=platform.python_version(),
    )


def _path(defined: Any) -> str:
    return f"{defined.__module__}.{defined.__qualname__}"


def _plain(value: Any, left_out: tuple[str, ...] = ()) -> Any:
    """A value as JSON has it, at any depth; what JSON lacks is written out."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, left_out) for key, inner in value.items() if key not in left_out}
    if isinstance(value, set | frozenset):
        value = sorted(value, key=str)
    if isinstance(value, list | tuple):
        return [_plain(inner, left_out) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if value is None or isinstance(value, str | int | float) else str(value)
