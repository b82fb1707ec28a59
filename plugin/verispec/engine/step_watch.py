"""Measures decoding steps from end to end, scheduling included: what the controller's costs are made of."""

from time import perf_counter
from typing import Any

from verispec.control import Step


class StepWatch:
    """Told of every step when it ends.

    Attributes:
        step: the one that has just ended; None if its time is not that of a decoding step: it read a prompt, or the
            engine had been idle.

    """

    def __init__(self) -> None:
        self.step: Step | None = None
        self._ended_s = 0.0
        self._running: set[str] = set()

    def step_ended(self, runner: Any, scheduler_output: Any) -> None:
        """A step of GPUModelRunner has sampled its tokens; those of the next are about to be drafted."""
        now, scheduled = perf_counter(), scheduler_output.num_scheduled_tokens
        drafts = scheduler_output.scheduled_spec_decode_tokens
        # Requests that were in the step before kept the engine busy in between.
        decoding = all(
            request_id in self._running and count == 1 + len(drafts.get(request_id, ()))
            for request_id, count in scheduled.items()
        )
        self.step = None
        if scheduled and decoding:
            batch = runner.input_batch
            kv_tokens = int(batch.num_computed_tokens_cpu[: batch.num_reqs].sum())
            tokens = int(scheduler_output.total_num_scheduled_tokens)
            self.step = Step(tokens, len(scheduled), kv_tokens, now - self._ended_s)
        self._ended_s, self._running = now, set(scheduled)
