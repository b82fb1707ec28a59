"""Thousands of requests pass through the proposer as it ships, two hundred at once: nothing of them stays."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.plugin.engine.processors import no_processors
from verispec.control import Batch, Step
from verispec.engine import runtime
from verispec.engine.proposer import Proposer
from verispec.settings import Settings

MAX_MODEL_LEN, WINDOW, AT_ONCE, REQUESTS = 64, 4, 200, 3000
MOST_STEP_TOKENS = 256


class Traffic:
    """A model runner whose requests say one of few things over and over, and keep every second draft."""

    def __init__(self, proposer):
        self.proposer, self.random = proposer, np.random.default_rng(0)
        self.tokens = np.zeros((AT_ONCE, MAX_MODEL_LEN), np.int32)
        self.lengths, self.left = np.zeros(AT_ONCE, np.int64), np.zeros(AT_ONCE, np.int64)
        self.batch = SimpleNamespace(
            req_ids=[""] * AT_ONCE,
            num_reqs=AT_ONCE,
            num_prompt_tokens=np.zeros(AT_ONCE, np.int64),
            logitsprocs=no_processors(),
        )
        self.requests, self.begun, self.drafted = {}, 0, 0
        proposer.bind(SimpleNamespace(input_batch=self.batch, requests=self.requests))
        for row in range(AT_ONCE):
            self.begin(row)

    def begin(self, row):
        """Prompts of 0 to 10 tokens, answers of 1 to 12; some reach max_model_len."""
        self.requests.pop(self.batch.req_ids[row], None)
        request_id = self.batch.req_ids[row] = f"r{self.begun}"
        self.begun += 1
        prompt = MAX_MODEL_LEN - 3 if self.begun % 50 == 0 else int(self.random.integers(0, 11))
        self.tokens[row, :prompt] = np.arange(prompt) % 5
        self.batch.num_prompt_tokens[row], self.lengths[row] = prompt, prompt
        self.left[row] = min(int(self.random.integers(1, 13)), MAX_MODEL_LEN - prompt)
        parameters = SimpleNamespace(
            temperature=0.8 * (self.begun % 2), seed=None, structured_outputs=None, max_tokens=int(self.left[row])
        )
        self.requests[request_id] = SimpleNamespace(sampling_params=parameters)

    def step(self, drafts):
        """The drafts of the step after one in which these were verified."""
        sampled = []
        for row, draft in enumerate(drafts):
            assert len(draft) < self.left[row]
            kept = [*draft[: len(draft) // 2], (self.lengths[row] + 1) % 5]
            self.tokens[row, self.lengths[row] : self.lengths[row] + len(kept)] = kept
            self.lengths[row] += len(kept)
            self.left[row] -= len(kept)
            sampled.append(kept)
        count = sum(map(len, drafts))
        assert AT_ONCE + count <= MOST_STEP_TOKENS
        self.drafted += count
        seconds = 0.05 + 1e-5 * count
        runtime.current().step_watch.step = Step(Batch(AT_ONCE, int(self.lengths.sum())), count, seconds)
        further = self.proposer.propose(sampled, self.lengths, self.tokens)
        for row in np.flatnonzero(self.left == 0):
            self.begin(int(row))
            further[row] = []
        return further


@pytest.mark.parametrize("drafter", ["suffix", "stochastic-suffix"])
def test_thousands_of_tiny_requests_leave_nothing_behind(monkeypatch, drafter):
    monkeypatch.setattr(runtime, "_current", None)
    state = runtime.start(Settings(drafter=drafter))
    config = SimpleNamespace(
        speculative_config=SimpleNamespace(num_speculative_tokens=WINDOW),
        scheduler_config=SimpleNamespace(max_num_batched_tokens=MOST_STEP_TOKENS),
        model_config=SimpleNamespace(max_model_len=MAX_MODEL_LEN, get_vocab_size=lambda: 10),
    )
    traffic = Traffic(Proposer(config))
    drafts = [[] for _ in range(AT_ONCE)]
    while traffic.begun < REQUESTS:
        drafts = traffic.step(drafts)
    assert state.fallback.drafting
    assert traffic.drafted > 100
    controller, proposer = state.controller, traffic.proposer
    kept = (proposer._known, controller._accounts, controller.estimates._requests, proposer._drafter._histories)
    assert all(0 < len(each) <= 2 * AT_ONCE for each in kept)
    traffic.requests.clear()
    traffic.batch.req_ids, traffic.batch.num_reqs = [], 0
    proposer.propose([], traffic.lengths[:0], traffic.tokens[:0])
    assert not any(len(each) for each in (*kept, state.q_channel._laws))
