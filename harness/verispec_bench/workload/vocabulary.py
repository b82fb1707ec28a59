"""The token ids of a model, from the files beside its weights."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verispec_bench.errors import UnusableInput

_NAMED = ("bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "decoder_start_token_id")


@dataclass(frozen=True)
class Vocabulary:
    """The ids that ordinary text may consist of, in order; what is known to be special is not among them."""

    ids: tuple[int, ...]


def read_vocabulary(model: Path) -> Vocabulary:
    """Of a model's directory: by tokenizer.json where there is one, else by the numbers in config.json.

    Raises:
        UnusableInput: neither tells.

    """
    config, tokenizer = _read(model / "config.json"), _read(model / "tokenizer.json")
    special = {id_ for name in _NAMED for id_ in _numbers(config.get(name))}
    special |= {int(token["id"]) for token in tokenizer.get("added_tokens", []) if token.get("special")}
    tokens = tokenizer.get("model", {}).get("vocab")
    if isinstance(tokens, dict):
        known = set(tokens.values())
    elif isinstance(tokens, list):
        known = set(range(len(tokens)))
    else:
        size = config.get("vocab_size") or config.get("text_config", {}).get("vocab_size")
        if not size:
            raise UnusableInput(
                f"{model}: neither tokenizer.json nor config.json tells the vocabulary; give vocab_size"
            )
        known = set(range(size))
    return Vocabulary(tuple(sorted(known - special)))


def _read(path: Path) -> dict[str, Any]:
    """A JSON object; empty if there is no such file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UnusableInput(f"{path}: cannot be read: {error}") from error
    return found if isinstance(found, dict) else {}


def _numbers(value: Any) -> list[int]:
    return [number for number in (value if isinstance(value, list) else [value]) if isinstance(number, int)]
