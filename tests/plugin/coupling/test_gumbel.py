"""The gumbel rule: enumerated law through the shipped code, the same text whatever is drafted, its acceptance."""

from fractions import Fraction
from functools import cache
from itertools import product

import pytest
import torch

from tests.plugin.coupling.test_enumeration import continued as continue_by_target
from tests.plugin.coupling.test_enumeration import drafts_of, nonzero, random_world, target_law
from verispec.coupling import RULES, Draws, Round, verify
from verispec.coupling.sampling import race

KEYS = torch.arange(400) * 7919


def round_of(drafts, target, bonus=0):
    return Round(
        draft_token_ids=torch.tensor(drafts),
        cu_num_draft_tokens=torch.tensor([len(drafts)]),
        target_probs=torch.tensor(target, dtype=torch.float64),
        draft_probs=None,
        point_mass=None,
        bonus_token_ids=torch.tensor([bonus]),
    )


def draws_by(own):
    nothing = torch.zeros(len(own), dtype=torch.float64)
    return Draws(accept=nothing, repair=nothing, own=own)


@cache
def keys_for(row):
    """To each token that the row can give: some key with which the target's own draw from it is that token."""
    rows = torch.tensor([[float(x) for x in row]], dtype=torch.float64).expand(len(KEYS), len(row))
    own = race(rows, KEYS)
    return {token: KEYS[(own == token).nonzero()[0, 0]] for token, weight in enumerate(row) if weight}


@pytest.mark.parametrize("seed", range(42))
def test_the_committed_law_is_exactly_the_targets(seed):
    """All drafts and all own draws, weighted in rationals; the decision is the shipped code's."""
    world, law = random_world(seed), {}
    for draft, chance in drafts_of(world):
        rows = [world.p[draft[:i]] for i in range(world.gamma)]
        floats, keys = [[float(x) for x in row] for row in rows], [keys_for(row) for row in rows]
        for own in product(*keys):
            weight = chance
            for row, token in zip(rows, own, strict=True):
                weight *= row[token]
            draws = draws_by(torch.stack([keys[i][t] for i, t in enumerate(own)]))
            verdict = RULES["gumbel"].decide(round_of(draft, floats, -7), draws)
            committed = tuple(t for t in verdict.token_ids[0].tolist() if t != -1)
            if committed[-1] == -7:  # the bonus stands for whatever the target draws next
                committed = committed[:-1]
            for sequence, rest in continue_by_target(world, committed, world.gamma + 1).items():
                law[sequence] = law.get(sequence, Fraction(0)) + weight * rest
    assert nonzero(law) == nonzero(target_law(world))


def decode(drafter, seed, length=12):
    """A seeded request on a random target, by rounds: its tokens."""
    generator = torch.Generator().manual_seed(5)
    target = torch.randn(16, 16, generator=generator).mul(1.5).softmax(-1)
    tokens, seeds = [0], torch.tensor([seed])
    while len(tokens) <= length:
        drafts = drafter(tokens)
        rows = target[torch.tensor([tokens[-1], *drafts])]
        position = torch.tensor([len(tokens)])
        bonus = Draws.keyed(round_of([0] * (len(drafts) + 1), rows.tolist()), seeds, position).own[-1:]
        round_ = round_of(drafts, rows[:-1].tolist()) if drafts else None
        last = race(rows[-1:], bonus).item()
        if round_ is None:
            tokens.append(last)
            continue
        round_ = round_of(drafts, rows[:-1].tolist(), last)
        verdict = RULES["gumbel"].decide(round_, Draws.keyed(round_, seeds, position))
        tokens += [t for t in verdict.token_ids[0].tolist() if t >= 0]
    return tokens[: length + 1]


def test_a_seeded_request_gets_the_same_text_whatever_is_drafted():
    generator = torch.Generator().manual_seed(1)

    def random_length(tokens):
        count = int(torch.randint(0, 6, (1,), generator=generator))
        return torch.randint(0, 16, (count,), generator=generator).tolist()

    drafters = [lambda tokens: [], lambda tokens: [3], lambda tokens: [tokens[-1]] * 5, random_length]
    for seed in range(20):
        assert len({tuple(decode(drafter, seed)) for drafter in drafters}) == 1
    assert len({tuple(decode(drafters[0], seed)) for seed in range(20)}) > 15


def test_a_point_mass_is_kept_as_often_as_by_the_token_rule():
    trials, p = 100_000, torch.tensor([0.5, 0.3, 0.2])
    for draft in range(3):
        verdict = verify(
            "gumbel",
            draft_token_ids=torch.full((trials,), draft),
            cu_num_draft_tokens=torch.arange(1, trials + 1),
            target_probs=p.expand(trials, 3),
            draft_probs=None,
            bonus_token_ids=torch.zeros(trials, dtype=torch.int64),
            generator=torch.Generator().manual_seed(draft),
        )
        assert verdict.num_accepted.double().mean().item() == pytest.approx(p[draft].item(), abs=0.008)


def test_keyed_draws_of_the_targets_own_tokens_depend_on_the_position_not_on_the_round():
    """Three drafts from position 5 on, or the last two from position 6 on: the same tokens."""
    target = [[0.5, 0.5]] * 3
    seeds = torch.tensor([11])
    whole = Draws.keyed(round_of([0, 1, 0], target), seeds, torch.tensor([5]))
    later = Draws.keyed(round_of([1, 0], target[1:]), seeds, torch.tensor([6]))
    for name in ("repair", "own"):
        assert torch.equal(getattr(whole, name)[1:], getattr(later, name))


def test_greedy_requests_of_the_batch_get_their_argmax():
    target = [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    for key in KEYS[:50]:
        verdict = RULES["gumbel"].decide(round_of([1, 2], target), draws_by(torch.stack([key, key + 1])))
        assert verdict.token_ids[0].tolist() == [1, 0, -1]
