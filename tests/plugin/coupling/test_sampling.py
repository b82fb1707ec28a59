"""Drawing from weights, by a uniform number and by a race: laws, edges, wide vocabularies."""

import pytest
import torch
from scipy import stats

from verispec.coupling.sampling import BLOCK, draw, race

WIDE = [BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7]


def random_keys(count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.empty(count, dtype=torch.int64).random_(-(2**63), None, generator=generator)


@pytest.mark.parametrize("uniform", [0.0, 0.5, 1 - 2**-53])
def test_a_token_of_weight_zero_is_never_drawn(uniform):
    weights = torch.tensor([[0.0, 0.25, 0.0, 0.75, 0.0]])
    assert draw(weights, torch.tensor([uniform], dtype=torch.float64)).item() in (1, 3)


def test_a_token_of_weight_zero_never_wins_a_race():
    weights = torch.zeros(20_000, 3 * BLOCK)
    weights[:, [BLOCK + 3, 3 * BLOCK - 1]] = 0.5
    assert set(race(weights, random_keys(20_000)).tolist()) == {BLOCK + 3, 3 * BLOCK - 1}


def test_drawing_inverts_the_cumulative_weights_of_a_wide_vocabulary():
    weights = torch.ones(1, 200_000)
    for token in (0, 1, BLOCK - 1, BLOCK, 99_999, 199_999):
        middle = torch.tensor([(token + 0.5) / 200_000], dtype=torch.float64)
        assert draw(weights, middle).item() == token


@pytest.mark.parametrize("vocab", WIDE)
def test_drawing_in_blocks_is_the_plain_inverse(vocab):
    generator = torch.Generator().manual_seed(vocab)
    weights = torch.rand(500, vocab, generator=generator, dtype=torch.float64)
    weights[torch.rand(500, vocab, generator=generator) < 0.3] = 0
    uniform = torch.rand(500, generator=generator, dtype=torch.float64)
    plain = torch.searchsorted(weights.cumsum(-1), (uniform * weights.sum(-1)).unsqueeze(-1), right=True).squeeze(-1)
    assert torch.equal(draw(weights, uniform), plain)


@pytest.mark.parametrize("vocab", [3, *WIDE])
@pytest.mark.parametrize("how", ["draw", "race"])
def test_tokens_follow_their_weights(how, vocab):
    """χ² over at most 64 bins of consecutive tokens, unnormalised weights, float32."""
    generator = torch.Generator().manual_seed(vocab)
    weights, count = torch.rand(vocab, generator=generator) ** 3 * 7, 40_000
    rows = weights.expand(count, vocab)
    uniform = torch.rand(count, generator=generator, dtype=torch.float64)
    tokens = draw(rows, uniform) if how == "draw" else race(rows, random_keys(count))
    bins = torch.arange(vocab) * min(vocab, 64) // vocab
    seen = torch.bincount(bins[tokens], minlength=int(bins[-1]) + 1).double()
    law = torch.zeros_like(seen).index_add_(0, bins, weights.double()) / weights.double().sum()
    assert stats.chisquare(seen.numpy(), (law * count).numpy()).pvalue > 1e-4


def test_a_race_does_not_depend_on_the_scale_of_the_weights_nor_on_the_other_rows():
    weights, keys = torch.rand(50, 2 * BLOCK), random_keys(50)
    winners = race(weights, keys)
    assert torch.equal(race(weights * 3.7, keys), winners)
    assert torch.equal(torch.cat([race(weights[i : i + 1], keys[i : i + 1]) for i in range(50)]), winners)


def test_races_with_the_same_key_agree_as_often_as_the_theory_of_the_coupling_says():
    """At least (1 − TV) / (1 + TV), for p and q of one block (Daliri et al., theorem 3)."""
    p, q = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.6, 0.1, 0.3])
    keys = random_keys(200_000)
    agree = (race(p.expand(200_000, 3), keys) == race(q.expand(200_000, 3), keys)).double().mean().item()
    assert agree > 0.8 / 1.2
    assert agree < 0.8


def test_no_rows_give_no_tokens():
    assert race(torch.zeros(0, 300), random_keys(0)).shape == (0,)
    assert draw(torch.zeros(0, 300), torch.zeros(0, dtype=torch.float64)).shape == (0,)
