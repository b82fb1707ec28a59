"""What differs between two release manifests, and whether it defines the contract."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from verispec_bench.release.source import Manifest

MUST_BE_KNOWN = (
    "defined_by.target.weights_sha256",
    "defined_by.tokenizer.sha256",
    "defined_by.drafter.model.weights_sha256",
)
"""Where null means unread: two of them are not two equals."""
_FOLLOWS = ("contract_sha256", "contract.says", "contract.because", "fallback.sha256", "schema_version", "sha256")
"""Computed from the rest, which is listed itself."""


@dataclass(frozen=True)
class Difference:
    """One key in which two manifests differ.

    Attributes:
        key: dotted.
        first, second: the values; None where it is missing or not known.
        defines_contract: servers that differ in it promise different things.

    """

    key: str
    first: Any
    second: Any
    defines_contract: bool

    def __str__(self) -> str:
        unknown = self.first is None and self.second is None
        return f"{self.key}: {'not known of either' if unknown else f'{self.first!r} against {self.second!r}'}"


def compare(first: Manifest, second: Manifest) -> list[Difference]:
    """All differences, those that define the contract first. Keys that nobody knows count as different."""
    ours, theirs = dict(_leaves(first)), dict(_leaves(second))
    keys = [key for key in sorted(ours.keys() | theirs.keys()) if not key.startswith(_FOLLOWS)]
    found = [
        Difference(key, ours.get(key), theirs.get(key), key.startswith("defined_by.") or key == "contract.kind")
        for key in keys
        if ours.get(key) != theirs.get(key) or (key in MUST_BE_KNOWN and ours.get(key) is None)
    ]
    return sorted(found, key=lambda difference: not difference.defines_contract)


def defines_contract(differences: Iterable[Difference]) -> bool:
    """One of them does."""
    return any(difference.defines_contract for difference in differences)


def _leaves(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, leaf); lists are leaves, and what is empty has none."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, f"{at}.{key}" if at else str(key))
    else:
        yield at, value
