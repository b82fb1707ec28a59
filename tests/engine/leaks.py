"""Planted leaks: after a rejection something of the rejected draft stays in one kind of decoder state.

Each is a context manager of the engine and the watched drafter; it gives a function that is called after every step,
with the rounds of that step, before anything is read.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch

from tests.engine.snapshots import kv_rows, write_kv_rows
from tests.engine.tiny import Engine


@dataclass(frozen=True)
class Round:
    """What became of a request's drafts in one step.

    Attributes:
        start: tokens that were committed before it.
        drafts: what the target has verified.
        committed: what was committed.

    """

    start: int
    drafts: list[int]
    committed: list[int]

    @property
    def num_accepted(self) -> int:
        return len(self.committed) - 1

    @property
    def rejected(self) -> list[int]:
        return self.drafts[self.num_accepted :]


Rounds = dict[str, Round]


@contextmanager
def watched_rounds(engine: Engine) -> Iterator[Callable[[], Rounds]]:
    """Gives a function that returns the rounds since it was called last, by request id."""
    seen: Rounds = {}
    update = engine.scheduler.update_from_output

    def update_from_output(scheduler_output, runner_output):
        for request_id, drafts in scheduler_output.scheduled_spec_decode_tokens.items():
            sampled = runner_output.sampled_token_ids[runner_output.req_id_to_index[request_id]]
            start = engine.scheduler.requests[request_id].num_tokens
            seen[request_id] = Round(start, list(drafts), list(sampled))
        return update(scheduler_output, runner_output)

    def take() -> Rounds:
        taken = dict(seen)
        seen.clear()
        return taken

    engine.scheduler.update_from_output = update_from_output
    yield take
    del engine.scheduler.update_from_output


def rejections(engine: Engine, rounds: Rounds) -> Iterator[tuple[str, Round]]:
    """Of requests that go on."""
    for request_id, round_ in rounds.items():
        request = engine.scheduler.requests.get(request_id)
        if round_.rejected and request is not None and not request.is_finished():
            yield request_id, round_


@contextmanager
def penalties_one_ahead(engine, drafter):
    def after_step(rounds):
        batch = engine.runner.input_batch
        for request_id, round_ in rejections(engine, rounds):
            output = engine.runner.requests[request_id].output_token_ids
            batch.req_output_token_ids[batch.req_id_to_index[request_id]] = [*output, round_.rejected[0]]

    yield after_step


@contextmanager
def penalties_see_the_judged_draft(engine, drafter):
    """Each position counts the draft that it is to judge."""
    from vllm.v1.sample.rejection_sampler import RejectionSampler

    original = RejectionSampler._combine_outputs_with_spec_tokens

    def one_more(output_token_ids, spec_token_ids=None):
        return [
            [*output, *drafts[: i + 1]]
            for output, drafts in zip(output_token_ids, spec_token_ids, strict=False)
            for i in range(len(drafts))
        ]

    RejectionSampler._combine_outputs_with_spec_tokens = staticmethod(one_more)
    yield lambda rounds: None
    RejectionSampler._combine_outputs_with_spec_tokens = staticmethod(original)


@contextmanager
def grammar_one_ahead(engine, drafter):
    def after_step(rounds):
        for request_id, _ in rejections(engine, rounds):
            structured = engine.scheduler.requests[request_id].structured_output_request
            if structured is not None and not structured.grammar.is_terminated():
                vocabulary = engine.runner.model_config.get_vocab_size()
                next(t for t in range(vocabulary) if structured.grammar.accept_tokens(request_id, [t]))

    yield after_step


@contextmanager
def rejected_kv_kept(engine, drafter):
    """The target's row of a rejected draft is there again once its position has been committed."""
    stale = {}

    def after_step(rounds):
        for request_id, (position, values) in stale.items():
            if request_id in engine.scheduler.requests:
                write_kv_rows(engine, request_id, position, values)
        stale.clear()
        for request_id, round_ in rejections(engine, rounds):
            position = round_.start + round_.num_accepted
            stale[request_id] = position, kv_rows(engine, request_id, position + 1)[:, -1:].clone()

    yield after_step


@contextmanager
def draft_kv_not_cropped(engine, drafter):
    """The draft model's row of a rejected draft stays, though it has read the token that was committed there."""
    provisional = {}

    def after_step(rounds):
        for request_id, round_ in rejections(engine, rounds):
            position = round_.start + round_.num_accepted
            if request_id in provisional and position < provisional[request_id].shape[1]:
                row = provisional[request_id][:, position : position + 1]
                write_kv_rows(engine, request_id, position, row, draft=True)
        provisional.clear()
        for request in engine.scheduler.running:
            if request.spec_token_ids:
                count = request.num_tokens + len(request.spec_token_ids) - 1
                provisional[request.request_id] = kv_rows(engine, request.request_id, count, draft=True).clone()

    yield after_step


@contextmanager
def kv_slots_shifted(engine, drafter):
    """The rows of rejected drafts are written two places too early, over rows that were computed before."""

    def after_step(rounds):
        for request_id, round_ in rejections(engine, rounds):
            position = round_.start + round_.num_accepted
            written = kv_rows(engine, request_id, position + 1)[:, -1:].clone()
            write_kv_rows(engine, request_id, round_.start - 2, written)

    yield after_step


@contextmanager
def random_position_ahead(engine, drafter):
    """Draws are keyed by a position that rejected drafts have advanced."""
    from verispec.engine.seeded import SeededRequests

    original, advanced = SeededRequests.in_batch, Counter()

    def in_batch(cls, runner, num_drafts):
        seeded = original(runner, num_drafts)
        if seeded is not None:
            seeded.positions.add_(torch.tensor([advanced[r] for r in runner.input_batch.req_ids]))
        return seeded

    def after_step(rounds):
        advanced.update({request_id: len(round_.rejected) for request_id, round_ in rejections(engine, rounds)})

    SeededRequests.in_batch = classmethod(in_batch)
    yield after_step
    SeededRequests.in_batch = original


@contextmanager
def drafts_streamed(engine, drafter):
    """A client is sent the text of the first draft before it is verified."""
    from vllm.v1.engine.detokenizer import BaseIncrementalDetokenizer

    original = BaseIncrementalDetokenizer.get_next_output_text

    def get_next_output_text(self, finished, delta):
        request = engine.scheduler.requests.get(self.request_id)
        drafts = [] if finished or request is None else request.spec_token_ids[:1]
        return original(self, finished, delta) + engine.tokenizer.decode(drafts)

    BaseIncrementalDetokenizer.get_next_output_text = get_next_output_text
    yield lambda rounds: None
    BaseIncrementalDetokenizer.get_next_output_text = original


@contextmanager
def rejected_text_kept(engine, drafter):
    """The text in which stop strings are sought ends with a rejected draft."""

    def after_step(rounds):
        states = engine.engine.output_processor.request_states
        for request_id, round_ in rejections(engine, rounds):
            if hasattr(states[request_id].detokenizer, "output_text"):
                states[request_id].detokenizer.output_text += engine.tokenizer.decode(round_.rejected[:1])

    yield after_step


@contextmanager
def rejected_tokens_counted(engine, drafter):
    def after_step(rounds):
        for request_id, round_ in rejections(engine, rounds):
            state = engine.engine.output_processor.request_states[request_id]
            state.stats.num_generation_tokens += len(round_.rejected)

    yield after_step


@contextmanager
def drafter_remembers(engine, drafter):
    """The drafter's history goes on with a rejected draft."""

    def after_step(rounds):
        for request_id, round_ in rejections(engine, rounds):
            drafter.suffix._histories[request_id].index.extend(np.array(round_.rejected[:1], np.int32))

    yield after_step


LEAKS = {
    "penalties count a rejected draft": penalties_one_ahead,
    "penalties count the draft that is judged": penalties_see_the_judged_draft,
    "grammar one token ahead": grammar_one_ahead,
    "KV row of a rejected draft kept": rejected_kv_kept,
    "KV rows of rejected drafts two slots early": kv_slots_shifted,
    "random position advanced by rejected drafts": random_position_ahead,
    "drafts streamed before they are verified": drafts_streamed,
    "stop buffer holds a rejected draft": rejected_text_kept,
    "usage counts rejected drafts": rejected_tokens_counted,
    "drafter remembers a rejected draft": drafter_remembers,
}
