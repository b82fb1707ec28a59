"""Settings as everyone may see them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SECRET = re.compile(r"(api_?key|secret|password|credential|(^|_)token)$", re.IGNORECASE)


def for_all_eyes(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options without secrets, paths cut to their last part, at any depth; what JSON lacks is written out."""
    return {str(name): _clean(str(name), value) for name, value in options.items()}


def _clean(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return for_all_eyes(value)
    if isinstance(value, list | tuple):
        return [_clean(name, inner) for inner in value]
    if isinstance(value, str):
        if _SECRET.search(name):
            return "(left out)"
        return Path(value).name if value.startswith(("/", "~")) else value
    return value if value is None or isinstance(value, bool | int | float) else str(value)
