"""What `verispec verify` found of an arm, if it was this arm: the same contract, by its hash."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from verispec_bench.errors import UnusableInput
from verispec_bench.release import read_file

SUMMARY = "verify.json"


@dataclass(frozen=True)
class Verification:
    """One arm of one directory of `verispec verify`.

    Attributes:
        file: verify.json.
        contract_sha256: of the server that was verified.
        machine: where it ran.
        law: its law tests, one for each sampling; empty without any.
        parity: its greedy answers against target-only's; None without any.

    """

    file: str
    contract_sha256: str
    machine: dict[str, Any]
    law: list[dict[str, Any]]
    parity: dict[str, Any] | None


def read_verification(directory: Path, arm: str) -> Verification:
    """What is known of an arm.

    Raises:
        UnusableInput: it is no finished directory of `verispec verify`, or has no such arm.

    """
    directory = directory.parent if directory.name == SUMMARY else directory
    path = directory / SUMMARY
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UnusableInput(f"{directory}: holds no {SUMMARY}: no finished run of verispec verify") from None
    except (OSError, ValueError) as error:
        raise UnusableInput(f"{path}: cannot be read as JSON: {error}") from None
    if not isinstance(found, dict):
        raise UnusableInput(f"{path}: is no {SUMMARY}")
    release = read_file(directory, arm)
    parity = [each for each in (found.get("parity") or {}).get("arms", []) if each["arm"] == arm]
    return Verification(
        file=str(path),
        contract_sha256=release["contract_sha256"],
        machine=release["machine"],
        law=[test for test in found.get("tests") or [] if test["arm"] == arm],
        parity=parity[0] if parity else None,
    )


def of_contract(found: Sequence[Verification], contract_sha256: str) -> tuple[list[Verification], list[Verification]]:
    """Those of the same contract, and the stale ones."""
    fresh = [each for each in found if each.contract_sha256 == contract_sha256]
    return fresh, [each for each in found if each not in fresh]
