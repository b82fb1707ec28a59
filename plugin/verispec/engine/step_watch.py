"""Measures steps from end to end, scheduling included: what the controller's costs are made of."""

from time import perf_counter
from typing import Any

import numpy as np

from verispec.control import Batch, Step


class StepWatch:
    """Told of every step when it ends.

    Attributes:
        step: the one that has just ended; None if it only read prompts, or the engine had been idle before it.
        unread_tokens: of prompts that it has read in part. Of those that are yet to come nothing is known here.

    What a request does that was not in the step before counts as reading a prompt.

    """

    def __init__(self) -> None:
        self.step: Step | None = None
        self.unread_tokens = 0
        self._ended_s = 0.0
        self._running: set[str] = set()

    def step_ended(self, runner: Any, scheduler_output: Any) -> None:
        """A step of GPUModelRunner has sampled its tokens; those of the next are about to be drafted."""
        now, scheduled = perf_counter(), scheduler_output.num_scheduled_tokens
        drafts = {key: len(tokens) for key, tokens in scheduler_output.scheduled_spec_decode_tokens.items()}
        # Requests that were in the step before kept the engine busy in between.
        decoding = {
            request_id: drafts.get(request_id, 0)
            for request_id, count in scheduled.items()
            if request_id in self._running and count == 1 + drafts.get(request_id, 0)
        }
        self.step, batch = None, runner.input_batch
        rows = [batch.req_id_to_index[request_id] for request_id in scheduled]
        begun_at, counts = batch.num_computed_tokens_cpu[rows], list(scheduled.values())
        self.unread_tokens = int(np.maximum(batch.num_prompt_tokens[rows] - begun_at - counts, 0).sum())
        if decoding:
            drafted = sum(decoding.values())
            kv_tokens = begun_at[[request_id in decoding for request_id in scheduled]].sum()
            prompt_tokens = scheduler_output.total_num_scheduled_tokens - len(decoding) - drafted
            self.step = Step(Batch(len(decoding), int(kv_tokens), int(prompt_tokens)), drafted, now - self._ended_s)
        self._ended_s, self._running = now, set(scheduled)
