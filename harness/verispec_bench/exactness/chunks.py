"""The plan of a verification in chunks of completions, and the file that keeps the finished ones."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from verispec_bench.errors import UnusableInput
from verispec_bench.exactness.completions import Completion
from verispec_bench.record.atomic import write_text
from verispec_bench.scenario import BASELINE, Exactness

PILOT_COMPLETIONS = 256
BATCHES_PER_CHUNK = 2


@dataclass(frozen=True)
class Chunk:
    """Completions that one server makes in one go.

    Attributes:
        part: "pilot" (chooses the bins), or "test".
        sampling: index of the sampling.
        arm: the server.
        index: 0, 1, … within part, sampling and arm.
        completions: how many.

    """

    part: str
    sampling: int
    arm: str
    index: int
    completions: int

    @property
    def id(self) -> str:
        """Unique within a verification."""
        return f"{self.part}/s{self.sampling}/{self.arm}/{self.index}"


def plan_chunks(exactness: Exactness, arms: Sequence[str]) -> list[Chunk]:
    """All chunks in the order in which they are made.

    After the pilots, rounds go through all servers, the baseline first and last (its completions serve every arm), the
    arms in an order that turns round from round to round: a drift of the machine falls on all of them.
    """
    samplings = range(len(exactness.sampling))
    size = BATCHES_PER_CHUNK * max(exactness.concurrency, len(exactness.prompts))
    chunks = [Chunk("pilot", sampling, BASELINE, 0, PILOT_COMPLETIONS) for sampling in samplings]
    for index, start in enumerate(range(0, exactness.completions, size)):
        count = min(size, exactness.completions - start)
        order = list(arms) if index % 2 == 0 else list(arms)[::-1]
        for sampling in samplings:
            chunks.append(Chunk("test", sampling, BASELINE, 2 * index, count))
            chunks += [Chunk("test", sampling, arm, index, count) for arm in order]
            chunks.append(Chunk("test", sampling, BASELINE, 2 * index + 1, count))
    return chunks


class ChunkFile:
    """completions.jsonl: one line for each finished chunk, with all its completions.

    Args:
        path: the file; a line that a killed run left unfinished is removed.

    Raises:
        UnusableInput: it is damaged elsewhere than at its end.

    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._finished: dict[str, list[Completion]] = {}
        lines = path.read_text(encoding="utf-8").split("\n") if path.is_file() else [""]
        for number, line in enumerate(lines[:-1], start=1):
            try:
                kept = json.loads(line)
                self._finished[kept["chunk"]] = [Completion(**completion) for completion in kept["completions"]]
            except (ValueError, KeyError, TypeError) as error:
                raise UnusableInput(f"{path}:{number}: damaged; choose another --out") from error
        if lines[-1]:
            write_text(path, "".join(line + "\n" for line in lines[:-1]))

    def __len__(self) -> int:
        return len(self._finished)

    def has(self, chunk: Chunk) -> bool:
        """This chunk is finished and kept."""
        return chunk.id in self._finished

    def get(self, chunk: Chunk) -> list[Completion]:
        """The completions of a kept chunk."""
        return self._finished[chunk.id]

    def add(self, chunk: Chunk, completions: Sequence[Completion]) -> None:
        """Keep a finished chunk."""
        line = json.dumps({"chunk": chunk.id, "completions": [asdict(completion) for completion in completions]})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._finished[chunk.id] = list(completions)
