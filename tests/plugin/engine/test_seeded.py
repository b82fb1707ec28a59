"""Which requests draw by keys, at which positions; the sampler's rows; generators are left alone."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from verispec.coupling.keyed import Stream, keys
from verispec.coupling.sampling import race
from verispec.engine import runtime
from verispec.engine.seeded import SeededRequests, draw_by_key, leave_generators_alone
from verispec.settings import Settings


def runner_with(seeds, lengths):
    """A model runner as far as it is read; None: not seeded."""
    ids = [f"r{i}" for i in range(len(seeds))]
    requests = {i: SimpleNamespace(sampling_params=SimpleNamespace(seed=s)) for i, s in zip(ids, seeds, strict=True)}
    generators = {row: object() for row, seed in enumerate(seeds) if seed is not None}
    batch = SimpleNamespace(
        generators=generators, req_ids=ids, num_reqs=len(ids), num_tokens_no_spec=np.array([*lengths, 99, 99], np.int32)
    )
    return SimpleNamespace(input_batch=batch, requests=requests, device="cpu")


def test_a_batch_without_seeds_has_none():
    assert SeededRequests.in_batch(runner_with([None, None], [4, 5]), [0, 0]) is None


def test_seeds_and_positions_are_those_of_the_batch_rows():
    seeded = SeededRequests.in_batch(runner_with([None, 7, 9], [4, 5, 6]), [1, 2, 0])
    assert seeded.rows.tolist() == [1, 2]
    assert seeded.is_seeded.tolist() == [False, True, True]
    assert seeded.seeds.tolist()[1:] == [7, 9]
    assert seeded.positions.tolist() == [4, 5, 6]


def test_the_token_after_the_drafts_is_drawn_at_its_own_position():
    """Two drafts from position 5 on: the token after them is what a target-only server draws at position 7."""
    probs = torch.full((1, 50), 0.02)
    after_drafts = SeededRequests.in_batch(runner_with([7], [5]), [2]).draw_last(probs)
    target_only = SeededRequests.in_batch(runner_with([7], [7]), [0]).draw_last(probs)
    assert after_drafts == target_only == race(probs, keys(torch.tensor([7]), torch.tensor([7]), Stream.OWN))


@pytest.fixture
def state(monkeypatch):
    monkeypatch.setattr(runtime, "_current", None)
    return runtime.start(Settings())


class Sampler:
    def __init__(self, logprobs_mode="raw_logprobs", use_fp64_gumbel=False):
        self.forward = self.plain

    def plain(self, logits, generators, k, p):
        self.generators = generators
        return torch.full((len(logits),), -7), None


def test_seeded_rows_draw_by_key_inside_top_k_and_the_others_as_before(state):
    sampler = type("Keyed", (Sampler,), {"__init__": draw_by_key(Sampler.__init__)})()
    logits = torch.arange(60.0).view(3, 20)
    assert sampler.forward(logits.clone(), {}, None, None)[0].tolist() == [-7] * 3
    state.seeded = SeededRequests.in_batch(runner_with([None, 7, 9], [4, 5, 6]), [0, 0, 0])
    tokens, _ = sampler.forward(logits.clone(), {1: object(), 2: object()}, torch.tensor([1, 1, 1]), None)
    assert tokens.tolist() == [-7, 19, 19]
    assert sampler.generators == {}


def test_generators_are_hidden_from_the_bookkeeping_and_kept():
    batch = SimpleNamespace(generators={0: "mine"})
    seen = leave_generators_alone(lambda self: dict(self.input_batch.generators))(SimpleNamespace(input_batch=batch))
    assert seen == {}
    assert batch.generators == {0: "mine"}


def verdict(rule, drafts, seeded, draft_probs=None, point_mass=None):
    verifier = runtime.Runtime(Settings(rule=rule)).verifier
    verifier.expect_round(point_mass, seeded)
    counts = [len(d) for d in drafts]
    logits = torch.randn(sum(counts), 8, generator=torch.Generator().manual_seed(4))
    metadata = SimpleNamespace(all_greedy=False, all_random=True)
    return verifier.adapt(None)(
        torch.tensor([t for d in drafts for t in d]), counts, max(counts), torch.tensor(counts).cumsum(0),
        draft_probs, logits, torch.zeros(len(drafts), 1), metadata,
    ), logits.softmax(-1)  # fmt: skip


@pytest.mark.parametrize("rule", ["token", "block", "gumbel"])
def test_a_seeded_request_commits_the_targets_own_draws_beside_others(rule):
    seeded = SeededRequests.in_batch(runner_with([None, 7], [4, 5]), [2, 3])
    tokens, probs = verdict(rule, [[1, 2], [3, 4, 5]], seeded)
    own = race(probs[2:], keys(torch.tensor(7), torch.tensor([5, 6, 7]), Stream.OWN)).tolist()
    kept = next((i for i, (x, y) in enumerate(zip([3, 4, 5], own, strict=True)) if x != y), 3)
    assert tokens[1, :kept].tolist() == own[:kept]
    assert kept == 3 or tokens[1, kept] == own[kept]


def test_a_seeded_request_with_a_law_of_its_own_is_verified_by_the_rule_with_keyed_draws():
    """Accepted as often as q overlaps p (always, here), and the same each time."""
    seeded = SeededRequests.in_batch(runner_with([7], [5]), [3])
    _, probs = verdict("token", [[3, 4, 5]], seeded)
    results = [verdict("token", [[3, 4, 5]], seeded, draft_probs=probs, point_mass=None)[0] for _ in range(3)]
    assert results[0].tolist() == [[3, 4, 5, 0]]
    other = torch.full((3, 8), 1 / 8)
    assert len({tuple(verdict("token", [[3, 4, 5]], seeded, other)[0][0].tolist()) for _ in range(5)}) == 1
