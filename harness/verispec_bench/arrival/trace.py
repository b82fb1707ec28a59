"""Recorded traffic: when requests came, and how long they and their answers were.

Two forms are read: JSONL as Mooncake publishes it ({"timestamp": milliseconds, "input_length", "output_length"}; what
else a line holds is ignored) and CSV as Azure publishes it (TIMESTAMP, ContextTokens, GeneratedTokens).
"""

import csv
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from verispec_bench.errors import UnusableInput

AZURE = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")


@dataclass(frozen=True)
class TraceLine:
    """One request of a trace.

    Attributes:
        at_s: seconds after the trace's first request.
        input_len, output_len: tokens.

    """

    at_s: float
    input_len: int
    output_len: int


def read_trace(path: Path) -> list[TraceLine]:
    """All requests of a trace, in the order of their times.

    Raises:
        UnusableInput: naming file and line.

    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableInput(f"{path}: the trace cannot be read: {error}") from error
    read = _mooncake if text.lstrip().startswith("{") else _azure
    lines = sorted(read(path, text), key=lambda line: line.at_s)
    if not lines:
        raise UnusableInput(f"{path}: holds no requests")
    return [TraceLine(line.at_s - lines[0].at_s, line.input_len, line.output_len) for line in lines]


def _mooncake(path: Path, text: str) -> Iterator[TraceLine]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            with _naming(f"{path}:{number}"):
                record = json.loads(line)
                yield _line(record["timestamp"] / 1000, record["input_length"], record["output_length"])


def _azure(path: Path, text: str) -> Iterator[TraceLine]:
    rows = csv.DictReader(text.splitlines())
    if missing := sorted(set(AZURE) - set(rows.fieldnames or ())):
        raise UnusableInput(f"{path}:1: no column {', '.join(missing)}; a trace is JSONL (Mooncake) or CSV (Azure)")
    for row in rows:
        with _naming(f"{path}:{rows.line_num}"):
            at, context, generated = (row[column] for column in AZURE)
            yield _line(_seconds(at), context, generated)


def _seconds(timestamp: str) -> float:
    time = datetime.fromisoformat(timestamp)
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _line(at_s: float, input_len: int | str, output_len: int | str) -> TraceLine:
    line = TraceLine(at_s, int(input_len), int(output_len))
    if line.input_len < 1 or line.output_len < 1:
        raise ValueError("a length is below 1")
    return line


@contextmanager
def _naming(where: str) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise UnusableInput(f"{where}: not a line of a trace: {type(error).__name__}: {error}") from error
