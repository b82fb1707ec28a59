"""The file that keeps finished chunks, so that a killed verification goes on where it was."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from verispec_bench.errors import UnusableInput
from verispec_bench.record.atomic import write_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


class HasId(Protocol):
    """A chunk, known by its id."""

    @property
    def id(self) -> str:
        """Unique within a verification."""


class ChunkFile(Generic[T]):
    """JSON lines, one for each finished chunk, with all that was made in it.

    Args:
        path: the file; a line that a killed run left unfinished is removed.
        kind: the dataclass of what is made.

    Raises:
        UnusableInput: it is damaged elsewhere than at its end.

    """

    def __init__(self, path: Path, kind: Callable[..., T]) -> None:
        self._path = path
        self._finished: dict[str, list[T]] = {}
        try:
            lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else [""]
        except ValueError as error:
            raise UnusableInput(f"{path}: damaged; choose another --out") from error
        for number, line in enumerate(lines[:-1], start=1):
            try:
                kept = json.loads(line)
                self._finished[kept["chunk"]] = [kind(**made) for made in kept["completions"]]
            except (ValueError, KeyError, TypeError) as error:
                raise UnusableInput(f"{path}:{number}: damaged; choose another --out") from error
        if lines[-1]:
            write_text(path, "".join(line + "\n" for line in lines[:-1]))

    def __len__(self) -> int:
        return len(self._finished)

    def has(self, chunk: HasId) -> bool:
        """This chunk is finished and kept."""
        return chunk.id in self._finished

    def get(self, chunk: HasId) -> list[T]:
        """What was made in a kept chunk."""
        return self._finished[chunk.id]

    def add(self, chunk: HasId, made: Sequence[T]) -> None:
        """Keep a finished chunk."""
        line = json.dumps({"chunk": chunk.id, "completions": [asdict(one) for one in made]})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._finished[chunk.id] = list(made)
