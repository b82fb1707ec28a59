"""Decisions of `verispec adopt` that stand in a result directory, as long as its summary is the one they rest on."""

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from verispec_bench.record.atomic import write_json

SUMMARY_KEY = "summary_sha256"


def keep_decision(directory: Path, summary: dict[str, Any], decision: dict[str, Any]) -> None:
    """Write decision-ARM.json, which the report shows."""
    write_json(directory / f"decision-{decision['arm']}.json", decision | {SUMMARY_KEY: _sha256(summary)})


def kept_decisions(directory: Path, summary: dict[str, Any]) -> list[dict[str, Any]]:
    """Those that were made from this very summary."""
    found = []
    for path in sorted(directory.glob("decision-*.json")):
        with suppress(ValueError):  # damaged: it is no decision
            found.append(json.loads(path.read_text(encoding="utf-8")))
    rests_on = _sha256(summary)
    return [decision for decision in found if isinstance(decision, dict) and decision.get(SUMMARY_KEY) == rests_on]


def _sha256(summary: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(summary, sort_keys=True).encode()).hexdigest()
