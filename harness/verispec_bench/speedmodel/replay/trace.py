"""Acceptance traces: at each position of an answer, the tokens that a step of each drafter would have committed there.

A file holds a JSON object a line, gzipped or not:

    {"id": "…", "prompt_token_ids": […], "generated_token_ids": […],
     "NAME_step_length": [tokens of a step that starts at this position with NAME's drafts, the bonus included], …}

Lengths at positions that a list does not reach are 1. Answers without a token are left out. In the place of the ids
there may be their numbers, prompt_tokens and generated_tokens: then no selector can look at the text.
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from verispec_bench.errors import UnusableInput

SUFFIX = "_step_length"


@dataclass(frozen=True)
class Trace:
    """Of one request.

    Attributes:
        id: of the request.
        prompt_tokens: length of its prompt.
        tokens: length of its answer.
        text: int32 [prompt_tokens + tokens], prompt and answer; None where the file does not tell.
        step_lengths: int64 [tokens] for each drafter, at least 1.

    """

    id: str
    prompt_tokens: int
    tokens: int
    text: NDArray[np.int32] | None
    step_lengths: dict[str, NDArray[np.int64]]


def read_traces(path: Path, limit: int | None = None) -> list[Trace]:
    """The first `limit` traces of a file; all have the same drafters.

    Raises:
        UnusableInput: it cannot be read, or is no trace file.

    """
    traces: list[Trace] = []
    for number, line in enumerate(_lines(path), 1):
        if limit is not None and len(traces) == limit:
            break
        if not line.strip():
            continue
        try:
            trace = _trace(json.loads(line))
        except (KeyError, TypeError, ValueError) as error:
            raise UnusableInput(f"{path}:{number}: is no acceptance trace: {_said(error)}") from None
        if trace.tokens == 0:
            continue
        traces.append(trace)
        if traces[-1].step_lengths.keys() != traces[0].step_lengths.keys():
            raise UnusableInput(f"{path}:{number}: has other drafters than the first line")
    if not traces:
        raise UnusableInput(f"{path}: holds no acceptance trace")
    return traces


def _lines(path: Path) -> Iterator[str]:
    try:
        with path.open("rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
        with gzip.open(path, "rt", encoding="utf-8") if zipped else path.open(encoding="utf-8") as text:
            yield from text
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise UnusableInput(f"{path}: cannot be read: {error}") from None


def _trace(line: Any) -> Trace:
    if not isinstance(line, dict):
        raise TypeError("no JSON object")
    prompt, answer = line.get("prompt_token_ids"), line.get("generated_token_ids")
    tokens = int(line["generated_tokens"] if answer is None else len(answer))
    lengths = {
        name.removesuffix(SUFFIX): _padded(values, tokens) for name, values in line.items() if name.endswith(SUFFIX)
    }
    if not lengths:
        raise ValueError(f"no list …{SUFFIX}")
    return Trace(
        id=str(line["id"]),
        prompt_tokens=int(line["prompt_tokens"] if prompt is None else len(prompt)),
        tokens=tokens,
        text=None if prompt is None or answer is None else np.array([*prompt, *answer], dtype=np.int32),
        step_lengths=lengths,
    )


def _padded(values: list[int], tokens: int) -> NDArray[np.int64]:
    """Exactly so many lengths; a step from a position that the list does not reach commits one token."""
    lengths = np.ones(tokens, dtype=np.int64)
    given = np.asarray(values[:tokens], dtype=np.int64)
    if given.ndim != 1 or (given < 1).any():
        raise ValueError("a step length below 1")
    lengths[: len(given)] = given
    return lengths


def _said(error: Exception) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error)
