"""What a bench sends, and when."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verispec_bench.arrival import read_trace, schedule
from verispec_bench.client import Request, Sampling
from verispec_bench.errors import UnusableInput
from verispec_bench.scenario import WorkloadFile
from verispec_bench.workload import Prompt, load_prompts
from verispec_bench.workload.source import BUILT_IN

DEFAULT_PROMPTS, DEFAULT_CONCURRENCY = 32, 4


@dataclass(frozen=True)
class BenchLoad:
    """What is sent: a closed loop, or an open one if there is a request rate or a trace.

    Attributes:
        workload: "chat", "code-edit" or a JSONL file.
        num_prompts: how many of its prompts; None: 32, or one for each line of the trace.
        max_concurrency: most requests in flight; None: 4 in a closed loop, no limit in an open one.
        request_rate: requests per second; infinity: none are due, a closed loop.
        ramp_to, burstiness: of arrivals at a rate, as in `arrival.schedule`.
        trace: a file of times and lengths, whose output lengths are asked for.
        trace_speed: 2 replays it in half the time.
        num_warmups: requests before the run, which are not measured; their prompts are not used again.
        seed: orders the prompts and draws the arrivals.
        timeout_s: a request that takes longer has failed.

    """

    workload: str = "chat"
    num_prompts: int | None = None
    max_concurrency: int | None = None
    request_rate: float = math.inf
    ramp_to: float | None = None
    burstiness: float = 1.0
    trace: Path | None = None
    trace_speed: float = 1.0
    num_warmups: int = 0
    seed: int = 0
    timeout_s: float = 600.0

    @property
    def is_open(self) -> bool:
        """Requests are due at times of their own."""
        return self.trace is not None or not math.isinf(self.request_rate)

    @property
    def concurrency(self) -> int | None:
        """Most requests in flight; None: no limit."""
        return self.max_concurrency if self.max_concurrency or self.is_open else DEFAULT_CONCURRENCY

    def requests(self, sampling: Sampling) -> tuple[list[Request], list[Request]]:
        """Those of the warm-up and those that are measured.

        Raises:
            UnusableInput: a file, a rate, or too few prompts.

        """
        due, output_lens = self._arrivals()
        prompts = self._prompts(len(due) + self.num_warmups)
        measured = [
            Request(prompt if tokens is None else replace(prompt, output_len=tokens), sampling, at)
            for prompt, at, tokens in zip(prompts, due, output_lens, strict=False)
        ]
        return [Request(prompt, sampling) for prompt in prompts[len(due) :]], measured

    def plan(self, sampling: Sampling) -> dict[str, Any]:
        """What would be sent: for --dry-run."""
        _, measured = self.requests(sampling)
        last = measured[-1].due_s
        return {
            "requests": len(measured),
            "warmups": self.num_warmups,
            "loop": "open" if self.is_open else "closed",
            "max_concurrency": self.concurrency,
            "arrivals_s": last,
            "request_rate": (len(measured) - 1) / last if last else None,
            "most_output_tokens": sum(
                sampling.max_tokens if request.prompt.output_len is None else request.prompt.output_len
                for request in measured
            ),
        }

    def _arrivals(self) -> tuple[list[float | None], list[int | None]]:
        """Due times and output lengths, None where there is none."""
        if self.trace is not None:
            if not math.isinf(self.request_rate):
                raise UnusableInput("--trace and --request-rate: a trace has its own times; give one of them")
            lines = read_trace(self.trace, self.trace_speed)[: self.num_prompts]
            if len(lines) < (self.num_prompts or 0):
                raise UnusableInput(f"{self.trace}: has {len(lines)} requests, {self.num_prompts} were asked for")
            return [line.at_s for line in lines], [line.output_len for line in lines]
        count = DEFAULT_PROMPTS if self.num_prompts is None else self.num_prompts
        if self.is_open:
            due = schedule(count, self.request_rate, ramp_to=self.ramp_to, burstiness=self.burstiness, seed=self.seed)
            return [*due], [None] * count
        if self.ramp_to is not None or self.burstiness != 1:
            raise UnusableInput("--ramp-to and --burstiness shape the arrivals of a --request-rate: give one")
        return [None] * count, [None] * count

    def _prompts(self, count: int) -> list[Prompt]:
        source = self.workload if self.workload in BUILT_IN else WorkloadFile(name="file", file=self.workload)
        prompts = load_prompts(source, self.seed, Path())
        if len(prompts) < count:
            raise UnusableInput(f"workload {self.workload} has {len(prompts)} prompts, {count} were asked for")
        return prompts[:count]
