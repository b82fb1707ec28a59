"""sha256 of files and values. Large files are read once: their digests are kept in the user's cache directory."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import platformdirs

SMALL = 1 << 20
"""Bytes; smaller files are read each time."""
_WEIGHTS = (("*.safetensors",), ("*.bin", "*.pt", "*.pth", "*.gguf"))
_TOKENIZER = (
    "tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "added_tokens.json", "chat_template*",
    "tekken*.json", "*.tiktoken", "*.model",
)  # fmt: skip


def value_digest(value: Any) -> str:
    """sha256 of a value's canonical JSON: sorted keys, no spaces, ASCII."""
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def weight_files(model: Path) -> list[Path]:
    """The files that hold a model's weights: the model itself if it is a file, the safetensors of a directory, or else
    its older formats.
    """
    if model.is_file():
        return [model]
    for patterns in _WEIGHTS:
        if found := _matching(model, patterns):
            return found
    return []


def tokenizer_files(directory: Path) -> list[Path]:
    """All files of a tokenizer, chat template included."""
    return _matching(directory, _TOKENIZER)


def files_digest(paths: Iterable[Path], cache: Path | None = None) -> str | None:
    """sha256 of the files' names and contents; None if there is no file, or one cannot be read.

    Args:
        cache: where digests are kept; default: the user's cache directory.

    """
    try:
        digests = {path.name: _file_digest(path, cache or default_cache()) for path in paths}
    except OSError:
        return None
    return value_digest(digests) if digests else None


def default_cache() -> Path:
    """The digests' place in the user's cache directory."""
    return Path(platformdirs.user_cache_dir("verispec")) / "digests"


def vocabulary_digest(vocabulary: Mapping[str, int]) -> str:
    """sha256 of {token: id}."""
    return value_digest(dict(vocabulary))


def _matching(directory: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted({path for pattern in patterns for path in directory.glob(pattern) if path.is_file()})


def _file_digest(path: Path, cache: Path) -> str:
    """Of the content; known already if path, size and times are those of an earlier reading."""
    path = path.resolve()
    state = path.stat()
    if state.st_size < SMALL:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    key = value_digest([str(path), state.st_size, state.st_mtime_ns, state.st_ctime_ns])
    kept = cache / key
    with contextlib.suppress(OSError):
        digest = kept.read_text()
        if len(digest) == hashlib.sha256().digest_size * 2:
            return digest
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time, nothing else
        cache.mkdir(parents=True, exist_ok=True)
        scratch = kept.with_name(f".{key}.{os.getpid()}")
        scratch.write_text(digest)
        scratch.replace(kept)
    return digest
