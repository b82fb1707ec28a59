"""Block verification beyond its proof: edges, raggedness, and that it is the token rule where theory says so."""

import pytest
import torch

from verispec.coupling import RULES, Draws, Round, verify


def batch(counts, vocab=5, seed=0, point_mass=False, greedy=False, repeated=False):
    """A random ragged round with a q that is drawn from."""
    generator = torch.Generator().manual_seed(seed)
    total = sum(counts)
    p = torch.rand(total, vocab, generator=generator, dtype=torch.float64).pow(3)
    q = p.clone() if repeated else torch.rand(total, vocab, generator=generator, dtype=torch.float64).pow(3)
    p, q = p / p.sum(-1, keepdim=True), q / q.sum(-1, keepdim=True)
    if greedy:
        p = torch.nn.functional.one_hot(p.argmax(-1), vocab).double()
    return {
        "draft_token_ids": torch.multinomial(q, 1, generator=generator).squeeze(-1),
        "cu_num_draft_tokens": torch.tensor(counts).cumsum(0),
        "target_probs": p,
        "draft_probs": None if point_mass else q,
        "bonus_token_ids": torch.zeros(len(counts), dtype=torch.int64),
    }


def mean_kept(rule, arguments, trials=2000):
    total = len(arguments["draft_token_ids"])
    many = {name: t if t is None else t.repeat(trials, *[1] * (t.ndim - 1)) for name, t in arguments.items()}
    many["cu_num_draft_tokens"] += total * torch.arange(trials).repeat_interleave(len(arguments["bonus_token_ids"]))
    verdict = verify(rule, **many, generator=torch.Generator().manual_seed(1))
    return verdict.num_accepted.reshape(trials, -1).double().mean(0)


def test_equal_laws_keep_everything():
    arguments = batch([4] * 200, repeated=True)
    assert verify("block", **arguments).num_accepted.tolist() == [4] * 200


@pytest.mark.parametrize("kind", [{"point_mass": True}, {"greedy": True}])
def test_no_gain_for_point_masses_and_greedy_targets(kind):
    arguments = batch([3, 1, 4, 2], **kind)
    difference = mean_kept("block", arguments) - mean_kept("token", arguments)
    assert difference.abs().max() < 0.1


def test_single_drafts_are_decided_as_by_the_token_rule():
    arguments = batch([1] * 300)
    round_ = Round(**arguments, point_mass=None)
    draws = Draws.from_generator(round_, torch.Generator().manual_seed(2))
    token, block = (RULES[rule].decide(round_, draws) for rule in ("token", "block"))
    assert torch.equal(token.token_ids, block.token_ids)


def test_requests_are_independent_of_their_place_in_the_batch():
    counts = [3, 0, 1, 4]
    arguments = batch(counts)
    round_ = Round(**arguments, point_mass=None)
    draws = Draws.from_generator(round_, torch.Generator().manual_seed(3))
    together = RULES["block"].decide(round_, draws)
    start = 0
    for row, count in enumerate(counts):
        rows = slice(start, start + count)
        alone = RULES["block"].decide(
            Round(
                draft_token_ids=arguments["draft_token_ids"][rows],
                cu_num_draft_tokens=torch.tensor([count]),
                target_probs=arguments["target_probs"][rows],
                draft_probs=arguments["draft_probs"][rows],
                point_mass=None,
                bonus_token_ids=torch.tensor([0]),
            ),
            Draws(draws.accept[rows], draws.repair[rows], draws.own[rows]),
        )
        assert together.token_ids[row, : count + 1].tolist() == alone.token_ids[0].tolist()
        start += count


def test_the_longest_prefix_that_may_be_kept_is_kept_though_a_shorter_may_not():
    """P = (1/3, 2/3), Q = (2/3, 1/3), drafts (0, 1): p₁ = 1/2, h₂ = 1: the second draft makes up for the first."""
    third = torch.tensor([1 / 3, 2 / 3], dtype=torch.float64)
    round_ = Round(
        draft_token_ids=torch.tensor([0, 1]),
        cu_num_draft_tokens=torch.tensor([2]),
        target_probs=third.expand(2, 2),
        draft_probs=third.flip(0).expand(2, 2),
        point_mass=None,
        bonus_token_ids=torch.tensor([0]),
    )
    uniforms = torch.tensor([[0.99, 0.99], [0.5, 0.5]], dtype=torch.float64)
    draws = Draws(accept=uniforms[0], repair=uniforms[1], own=torch.zeros(2, dtype=torch.int64))
    assert RULES["block"].decide(round_, draws).num_accepted.item() == 2
    assert RULES["token"].decide(round_, draws).num_accepted.item() == 0


def test_a_draft_that_no_q_can_have_drawn_ends_its_block():
    arguments = batch([3], repeated=True)
    arguments["draft_token_ids"][1] = -1
    for _ in range(20):
        verdict = verify("block", **arguments)
        assert verdict.num_accepted.item() == 1


def test_float32_decides_as_float64():
    arguments = batch([4] * 400, vocab=50)
    rounds = [
        Round(**{name: t.to(dtype) if t.is_floating_point() else t for name, t in arguments.items()}, point_mass=None)
        for dtype in (torch.float32, torch.float64)
    ]
    draws = Draws.from_generator(rounds[1], torch.Generator().manual_seed(4))
    single, double = (RULES["block"].decide(round_, draws).num_accepted for round_ in rounds)
    assert (single != double).sum() <= 1
