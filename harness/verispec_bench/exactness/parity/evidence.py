"""The phases of a comparison (see the package), planned from what is kept: each needs those before it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from verispec_bench.exactness.chunk_file import ChunkFile
from verispec_bench.exactness.parity.answer import Answer, Ask, plain, scored, with_rows
from verispec_bench.exactness.parity.corpus import GreedyPrompt
from verispec_bench.exactness.parity.difference import Difference, find_difference
from verispec_bench.scenario import BASELINE, Parity

ANSWERS_PER_STREAM = 2
"""Answers of a chunk for each request in flight."""
FEW = 4
SHARE = 5
"""Of the sample, every fifth prompt is answered alone and every fifth among FEW, the others in a full batch: kernels
differ most at few rows. (A share that six kinds are no multiple of, so that each has all kinds.)"""
TOP_OF_SAMPLE, TOP_OF_REPLAY = 5, 20
"""Logprobs asked for at each position; 20 is the most that a stock server gives."""


@dataclass(frozen=True)
class ParityChunk:
    """Requests that one server answers in one go.

    Attributes:
        phase: "answers", "rows" (of full batches), "rows-of-few", "rows-alone", "passes", or "replays/ARM".
        server: who answers.
        index: 0, 1, … within phase and server.
        asks: the requests.
        concurrency: how many of them are in flight.

    """

    phase: str
    server: str
    index: int
    asks: tuple[Ask, ...]
    concurrency: int

    @property
    def id(self) -> str:
        """Unique within a verification."""
        return f"{self.phase}/{self.server}/{self.index}"


class Evidence:
    """All that is made for a comparison, by phase.

    Args:
        parity: how much is asked.
        arms: the speculative servers.
        prompts: the corpus, as far as it is used.
        kept: finished chunks.

    """

    def __init__(
        self, parity: Parity, arms: Sequence[str], prompts: Sequence[GreedyPrompt], kept: ChunkFile[Answer]
    ) -> None:
        self.arms = arms
        self.prompts = prompts
        self._parity = parity
        self._kept = kept
        self._servers = [BASELINE, *arms]

    def missing(self) -> list[ParityChunk]:
        """What the first unfinished phase still lacks; empty when all is made."""
        for plan in (self._plan_answers, self._plan_rows, self._plan_passes, self._plan_replays):
            if missing := [chunk for chunk in plan() if not self._kept.has(chunk)]:
                return missing
        return []

    def answers(self, server: str) -> dict[str, Answer]:
        """A server's answers by prompt."""
        return self._made(self._plan_answers(), server)

    def rows(self, server: str) -> dict[str, Answer]:
        """A server's answers to the sample, with the rows of its own steps."""
        return self._made(self._plan_rows(), server)

    def passes(self) -> dict[str, Answer]:
        """Target-only's passes over its own answers to the sample."""
        return self._made(self._plan_passes(), BASELINE)

    def replays(self, arm: str, server: str) -> dict[str, Answer]:
        """A server's passes over the prefixes after which this arm's token is another, with that one row."""
        return self._made([chunk for chunk in self._plan_replays() if chunk.phase == f"replays/{arm}"], server)

    def differences(self, arm: str) -> list[Difference]:
        """Between target-only and this arm, in the order of the prompts."""
        baseline, other = self.answers(BASELINE), self.answers(arm)
        found = (find_difference(baseline[prompt.id], other[prompt.id]) for prompt in self.prompts)
        return [difference for difference in found if difference]

    def _made(self, chunks: Sequence[ParityChunk], server: str) -> dict[str, Answer]:
        ours = [answer for chunk in chunks if chunk.server == server for answer in self._kept.get(chunk)]
        return {answer.prompt: answer for answer in ours}

    def _plan_answers(self) -> list[ParityChunk]:
        """Servers take turns, in an order that turns round from chunk to chunk."""
        asks = [plain(prompt, self._parity.tokens) for prompt in self.prompts]
        size = ANSWERS_PER_STREAM * self._parity.concurrency
        chunks = []
        for index, start in enumerate(range(0, len(asks), size)):
            for server in self._servers if index % 2 == 0 else self._servers[::-1]:
                chunks.append(self._chunk("answers", server, index, asks[start : start + size]))
        return chunks

    def _plan_rows(self) -> list[ParityChunk]:
        asks = [
            with_rows(answer, self._parity.tokens, TOP_OF_SAMPLE) for answer in self._sampled(self.answers(BASELINE))
        ]
        alone, few = asks[::SHARE], asks[1::SHARE]
        batch = [ask for ask in asks if ask not in alone and ask not in few]
        shapes = (
            ("rows", batch, self._parity.concurrency),
            ("rows-of-few", few, min(FEW, self._parity.concurrency)),
            ("rows-alone", alone, 1),
        )
        return [
            ParityChunk(phase, server, 0, tuple(part), concurrency)
            for phase, part, concurrency in shapes
            for server in self._servers
            if part
        ]

    def _plan_passes(self) -> list[ParityChunk]:
        asks = [
            scored(answer.prompt, answer.prompt_token_ids, answer.token_ids, len(answer.token_ids), TOP_OF_SAMPLE)
            for answer in self._sampled(self.rows(BASELINE))
        ]
        return [self._chunk("passes", BASELINE, 0, asks)]

    def _plan_replays(self) -> list[ParityChunk]:
        baseline, chunks = self.answers(BASELINE), []
        for arm in self.arms:
            contested = [(d.prompt, d.position) for d in self.differences(arm) if d.kind == "token"]
            asks = [
                scored(
                    prompt, baseline[prompt].prompt_token_ids, baseline[prompt].token_ids[: at + 1], 1, TOP_OF_REPLAY
                )
                for prompt, at in contested
                if at is not None
            ]
            if asks:
                chunks += [self._chunk(f"replays/{arm}", server, 0, asks) for server in (BASELINE, arm)]
        return chunks

    def _sampled(self, answers: dict[str, Answer]) -> Iterator[Answer]:
        return (answers[prompt.id] for prompt in self.prompts[: self._parity.envelope_prompts])

    def _chunk(self, phase: str, server: str, index: int, asks: Sequence[Ask]) -> ParityChunk:
        return ParityChunk(phase, server, index, tuple(asks), self._parity.concurrency)
