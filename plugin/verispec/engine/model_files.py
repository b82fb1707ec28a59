"""The files of target, draft model and tokenizers, where vLLM reads them; hashed beside the engine, not in its way."""

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verispec.release.digest import files_digest, tokenizer_files, vocabulary_digest, weight_files
from verispec.release.facts import SamplingDefaults

logger = logging.getLogger("vllm.verispec")


@dataclass(frozen=True)
class Contents:
    """What only reading files tells; None where they cannot be read.

    Attributes:
        weights, draft_weights: sha256 of the weight files.
        tokenizer: sha256 of the tokenizer's files.
        vocabulary, draft_vocabulary: sha256 of {token: id}.
        vocab_size: tokens that the target's tokenizer knows.
        sampling_defaults: from the model's generation_config.json and the server's settings.

    """

    sampling_defaults: SamplingDefaults
    weights: str | None = None
    tokenizer: str | None = None
    vocabulary: str | None = None
    vocab_size: int | None = None
    draft_weights: str | None = None
    draft_vocabulary: str | None = None


class ModelFiles:
    """Reads a server's files once, in a thread of its own, when first asked.

    Args:
        vllm_config: vLLM's VllmConfig.

    """

    def __init__(self, vllm_config: Any) -> None:
        self._config = vllm_config
        self._reading: Future[Contents] | None = None

    def contents(self) -> Contents | None:
        """What was found; None while it is being read."""
        if self._reading is None:
            thread = ThreadPoolExecutor(1, thread_name_prefix="verispec-digests")
            self._reading = thread.submit(self._read)
            thread.shutdown(wait=False)
        return self._reading.result() if self._reading.done() else None

    def _read(self) -> Contents:
        target, draft = self._config.model_config, draft_model_config(self._config)
        vocabulary = None if target.skip_tokenizer_init else read_vocabulary(target.tokenizer, target)
        speculative = self._config.speculative_config
        draft_vocabulary = None
        if vocabulary and draft and speculative.method == "draft_model":
            draft_vocabulary = read_vocabulary(draft.model, target, draft.revision)
        draft_load = getattr(speculative, "draft_load_config", None) or self._config.load_config
        return Contents(
            sampling_defaults=_sampling_defaults(target),
            weights=_weights(target, self._config.load_config),
            tokenizer=None if target.skip_tokenizer_init else _tokenizer(target),
            vocabulary=vocabulary_digest(vocabulary) if vocabulary else None,
            vocab_size=len(vocabulary) if vocabulary else None,
            draft_weights=_weights(draft, draft_load) if draft else None,
            draft_vocabulary=vocabulary_digest(draft_vocabulary) if draft_vocabulary else None,
        )


def draft_model_config(vllm_config: Any) -> Any | None:
    """The ModelConfig of a draft model, None where drafts come without one (vLLM puts the target's there)."""
    speculative = vllm_config.speculative_config
    if speculative is None or speculative.draft_model_config is speculative.target_model_config:
        return None
    return speculative.draft_model_config


def read_vocabulary(name: str, target: Any, revision: str | None = None) -> dict[str, int] | None:
    """{token: id} of a tokenizer, None if there is none.

    Args:
        name: its directory or hub id.
        target: the target's ModelConfig, whose tokenizer mode and trust are used.

    """
    from vllm.tokenizers import get_tokenizer

    try:
        tokenizer = get_tokenizer(
            name,
            tokenizer_mode=target.tokenizer_mode,
            revision=revision or target.tokenizer_revision,
            trust_remote_code=target.trust_remote_code,
        )
        return dict(tokenizer.get_vocab())
    except Exception as error:  # whatever a model's own files and code do here, the server must live
        logger.warning("verispec: the vocabulary of %s cannot be read: %s", local_name(name), str(error)[:200])
        return None


def another_vocabulary(vllm_config: Any) -> str | None:
    """Why a draft model's ids do not mean the target's tokens: both vocabularies and the first id that differs.

    None if they do, or it cannot be known; vLLM compares no more than the sizes.
    """
    speculative = vllm_config.speculative_config
    if speculative is None or speculative.method != "draft_model" or speculative.use_heterogeneous_vocab:
        return None
    target, draft = vllm_config.model_config, speculative.draft_model_config
    if target.skip_tokenizer_init:
        return None
    ours, theirs = read_vocabulary(target.tokenizer, target), read_vocabulary(draft.model, target, draft.revision)
    if ours is None or theirs is None or ours == theirs:
        return None
    tokens = [{number: token for token, number in vocabulary.items()} for vocabulary in (ours, theirs)]
    first = min(
        number for number in tokens[0].keys() | tokens[1].keys() if tokens[0].get(number) != tokens[1].get(number)
    )
    return (
        f"speculative_config: the draft model {local_name(draft.model)} has another vocabulary ({len(theirs)} tokens) "
        f"than the target {local_name(target.model)} ({len(ours)} tokens): id {first} is {tokens[1].get(first)!r} for "
        f"the draft and {tokens[0].get(first)!r} for the target; use a draft model with the target's tokenizer"
    )


def local_name(model: str) -> str:
    """A model's name without the path to it: a hub id as it is, also if it was resolved to its snapshot."""
    path = Path(model)
    if path.parent.name == "snapshots":
        return path.parents[1].name.removeprefix("models--").replace("--", "/")
    return path.name if path.is_absolute() or path.exists() else model


def revision_of(model: str, revision: str | None) -> str | None:
    """The hub's commit if the model lies in a hub cache, else what was asked for."""
    path = _directory(model, revision)
    return path.name if path and path.parent.name == "snapshots" else revision


def _directory(model: str, revision: str | None, download_dir: str | None = None) -> Path | None:
    """Where a model's files lie on this machine."""
    if Path(model).exists():
        return Path(model)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(model, revision=revision, cache_dir=download_dir, local_files_only=True))
    except Exception:  # not a hub id, or not in the cache: object stores, other hubs
        return None


def _sampling_defaults(config: Any) -> SamplingDefaults:
    source = config.generation_config
    given = {} if source == "vllm" else config.try_get_generation_config()
    return SamplingDefaults(
        source=local_name(source),
        parameters=config.get_diff_sampling_param(),
        eos_token_id=(given | config.override_generation_config).get("eos_token_id"),
    )


def _weights(config: Any, load_config: Any) -> str | None:
    if load_config.load_format == "dummy":
        return None
    directory = _directory(config.model, config.revision, load_config.download_dir)
    return files_digest(weight_files(directory)) if directory else None


def _tokenizer(config: Any) -> str | None:
    directory = _directory(config.tokenizer, config.tokenizer_revision)
    return files_digest(tokenizer_files(directory)) if directory and directory.is_dir() else None
