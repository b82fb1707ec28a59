"""Arrivals and lengths that were recorded on a real service."""

import csv
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from verispec_bench.errors import UnusableInput


@dataclass(frozen=True)
class TraceLine:
    """One recorded request.

    Attributes:
        at_s: seconds after the first.
        input_len, output_len: tokens.

    """

    at_s: float
    input_len: int
    output_len: int


def read_trace(path: Path, speed: float = 1.0) -> list[TraceLine]:
    """The requests of a trace in the order of their times.

    Two forms are known, told apart by the name of the file: JSONL as Mooncake's traces
    (`{"timestamp": milliseconds, "input_length": …, "output_length": …}`), and CSV as Azure's
    (`TIMESTAMP,ContextTokens,GeneratedTokens` with dates).

    Args:
        path: .jsonl or .csv.
        speed: 2 replays it in half the time.

    Raises:
        UnusableInput: naming file and line.

    """
    if not 0 < speed < math.inf:
        raise UnusableInput(f"{path}: speed {speed:g}: is not a factor above 0")
    form = _FORMS.get(path.suffix.lower())
    if form is None:
        raise UnusableInput(f"{path}: a trace is a .jsonl file (Mooncake's form) or a .csv file (Azure's)")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableInput(f"{path}: the trace cannot be read: {error}") from error
    rows, read = form
    lines = []
    try:
        for number, row in rows(text):
            try:
                lines.append(_checked(read(row)))
            except KeyError as error:
                raise UnusableInput(f"{path}:{number}: has no {error}") from error
            except (TypeError, ValueError) as error:
                raise UnusableInput(f"{path}:{number}: {error}") from error
    except csv.Error as error:
        raise UnusableInput(f"{path}: is no CSV: {error}") from error
    if not lines:
        raise UnusableInput(f"{path}: holds no requests")
    lines.sort(key=lambda line: line.at_s)
    return [TraceLine((line.at_s - lines[0].at_s) / speed, line.input_len, line.output_len) for line in lines]


def _json_lines(text: str) -> Iterator[tuple[int, str]]:
    return ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())


def _mooncake(line: str) -> TraceLine:
    record = json.loads(line)
    if not isinstance(record, dict):
        raise ValueError("not an object")
    at_ms = record["timestamp"]
    if isinstance(at_ms, bool) or not isinstance(at_ms, int | float):
        raise ValueError(f"timestamp {at_ms!r} is not a number")
    return TraceLine(at_ms / 1000, _length(record["input_length"]), _length(record["output_length"]))


def _csv_rows(text: str) -> Iterator[tuple[int, dict[str, str | None]]]:
    rows = csv.DictReader(text.splitlines())
    return ((rows.line_num, row) for row in rows)


def _azure(row: dict[str, str | None]) -> TraceLine:
    at = datetime.fromisoformat(row["TIMESTAMP"] or "")
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return TraceLine(at.timestamp(), _length(row["ContextTokens"]), _length(row["GeneratedTokens"]))


def _length(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError(f"length {value!r} is not a whole number")
    return int(value)


def _checked(line: TraceLine) -> TraceLine:
    if not math.isfinite(line.at_s):
        raise ValueError("the time is not finite")
    if line.input_len < 1 or line.output_len < 1:
        raise ValueError(f"lengths of {line.input_len} and {line.output_len} tokens: both are at least 1")
    return line


_FORMS: dict[str, tuple[Callable[[str], Iterator[tuple[int, Any]]], Callable[[Any], TraceLine]]] = {
    ".jsonl": (_json_lines, _mooncake),
    ".csv": (_csv_rows, _azure),
}
"""By the end of the file's name: the numbered rows of a text, and how to read one."""
