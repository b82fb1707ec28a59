"""The plan of the law test in chunks of completions."""

from collections.abc import Sequence
from dataclasses import dataclass

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
