"""A draft model of a model's own first layers: same vocabulary, same embeddings, the last norm and head behind them.

Early exit as in LayerSkip (arXiv:2404.16710), but without its training, and so a weak drafter: of the greedy tokens of
SmolLM2-135M-Instruct (30 layers) the first 8 layers give 2 to 6 in a hundred, the first 24 a third. torch is not
needed: safetensors is a JSON header and the tensors' bytes behind it (https://github.com/huggingface/safetensors).
"""

import json
import re
import shutil
from pathlib import Path
from typing import Any

from verispec_bench.errors import UnusableInput

_LAYER = re.compile(r"\.layers\.(\d+)\.")
_WEIGHTS = "model.safetensors"


def write_first_layers(source: Path, layers: int, directory: Path) -> None:
    """Write a model of the first layers of another into a new directory.

    Args:
        source: a transformers model whose weights are in one safetensors file.
        layers: how many to keep.

    Raises:
        UnusableInput: it has not more layers than that.

    """
    config: dict[str, Any] = json.loads((source / "config.json").read_text(encoding="utf-8"))
    of = config["num_hidden_layers"]
    if not 0 < layers < of:
        raise UnusableInput(
            f"{source.name}: has {of} layers; a draft model can have 1 to {of - 1} of them, not {layers}"
        )
    directory.mkdir()
    for path in source.iterdir():
        if path.is_file() and path.name not in (_WEIGHTS, "config.json"):
            shutil.copy(path, directory)
    by_layer = {key: value[:layers] for key, value in config.items() if isinstance(value, list) and len(value) == of}
    config |= by_layer | {"num_hidden_layers": layers}
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    _copy_tensors(source / _WEIGHTS, directory / _WEIGHTS, layers)


def _copy_tensors(source: Path, target: Path, layers: int) -> None:
    with source.open("rb") as read, target.open("wb") as write:
        length = int.from_bytes(read.read(8), "little")
        header: dict[str, Any] = json.loads(read.read(length))
        metadata = {"__metadata__": header.pop("__metadata__")} if "__metadata__" in header else {}
        kept = {name: tensor for name, tensor in header.items() if _is_kept(name, layers)}
        moved, at = {}, 0
        for name, tensor in kept.items():
            begin, end = tensor["data_offsets"]
            moved[name] = tensor | {"data_offsets": [at, at + end - begin]}
            at += end - begin
        text = json.dumps(metadata | moved).encode()
        text += b" " * (-len(text) % 8)
        write.write(len(text).to_bytes(8, "little") + text)
        for tensor in kept.values():
            begin, end = tensor["data_offsets"]
            read.seek(8 + length + begin)
            write.write(read.read(end - begin))


def _is_kept(tensor: str, layers: int) -> bool:
    layer = _LAYER.search(tensor)
    return layer is None or int(layer[1]) < layers
