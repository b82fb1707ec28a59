"""Counter-based draws: functions of (seed, position, stream), independent of each other, uniform."""

from itertools import product
from math import sqrt

import pytest
import torch
from scipy import stats

from verispec.coupling import RULES, Draws, Round
from verispec.coupling.keyed import Stream, exponential, keys, uniform

MANY = torch.arange(200_000)


def one(value):
    return torch.tensor([value])


def test_a_draw_is_a_function_of_seed_position_and_stream_alone():
    seeds, positions = torch.tensor([7, 8, 7]), torch.tensor([3, 3, 4])
    together = keys(seeds, positions, Stream.OWN)
    for row in (2, 0, 1):
        assert keys(seeds[row], positions[row], Stream.OWN) == together[row]


def test_no_two_draws_share_a_key():
    seeds = torch.tensor([-(2**63), -1, 0, 1, 2**63 - 1]).repeat_interleave(4000)
    positions = torch.arange(4000).repeat(5)
    all_keys = torch.cat([keys(seeds, positions, stream) for stream in Stream])
    assert len(all_keys.unique()) == len(all_keys)


def test_uniforms_are_uniform_on_the_open_interval():
    """Over positions, over seeds, and over the indices of one race."""
    for sample in (
        uniform(keys(one(0), MANY, Stream.ACCEPT)),
        uniform(keys(MANY, one(5), Stream.OWN)),
        torch.exp(-exponential(keys(one(3), one(4), Stream.OWN), MANY)),
    ):
        assert sample.min() > 0
        assert sample.max() < 1
        assert stats.kstest(sample.numpy(), "uniform").pvalue > 1e-4


def test_the_extreme_words_stay_inside_the_open_interval():
    words = torch.tensor([0, -1, 2**63 - 1, -(2**63)])
    bits = uniform(words)
    assert ((bits > 0) & (bits < 1)).all()
    assert exponential(words, torch.zeros(4, dtype=torch.int64)).isfinite().all()


@pytest.mark.parametrize(("first", "second"), list(product(Stream, repeat=2)))
def test_streams_and_neighbouring_positions_are_uncorrelated(first, second):
    """A 16 × 16 table of both uniforms; the same stream is compared with its next position."""
    a = uniform(keys(MANY, one(1), first))
    b = uniform(keys(MANY, one(2 if first == second else 1), second))
    table = torch.bincount((a * 16).long() * 16 + (b * 16).long(), minlength=256)
    assert stats.chisquare(table.numpy()).pvalue > 1e-5


def test_races_of_neighbouring_positions_share_no_noise():
    """Windows of one long sequence that overlap would repeat each other's numbers (vllm#59786)."""
    index = torch.arange(2000)
    noise = torch.stack([exponential(keys(one(0), one(position), Stream.OWN), index) for position in range(50)])
    assert len(noise.unique()) == noise.numel()


def second_tokens(rule, draws_of):
    """Two rounds of many seeds, P = (1/3, 2/3), Q = (2/3, 1/3): two drafts, then one where the first was rejected.

    The second tokens of the requests that were cut so.
    """
    generator, p = torch.Generator().manual_seed(3), torch.tensor([1 / 3, 2 / 3], dtype=torch.float64)
    seeds = torch.arange(40_000)
    for position, count in ((0, 2), (1, 1)):
        drafts = torch.multinomial(p.flip(0), len(seeds) * count, replacement=True, generator=generator)
        rows = p.expand(len(drafts), 2)
        round_ = Round(
            draft_token_ids=drafts,
            cu_num_draft_tokens=torch.arange(1, len(seeds) + 1) * count,
            target_probs=rows,
            draft_probs=rows.flip(1),
            point_mass=None,
            bonus_token_ids=torch.zeros_like(seeds),
        )
        verdict = RULES[rule].decide(round_, draws_of(round_, seeds, torch.full_like(seeds, position)))
        seeds = seeds[verdict.num_accepted == 0]
    return verdict.token_ids[:, 0]


@pytest.mark.parametrize("rule", ["token", "block", "gumbel"])
def test_what_one_round_rejects_does_not_bend_the_next_rounds_law(rule):
    """The block rule cuts at 0 by looking at the uniform of the second draft: the next round must not see it again."""
    tokens = second_tokens(rule, Draws.keyed)
    error = sqrt(2 / 9 / len(tokens))
    assert abs((tokens == 0).double().mean().item() - 1 / 3) < 5 * error


def test_acceptance_keyed_by_the_position_alone_would_be_noticed():
    def by_position(round_, seeds, positions):
        draws = Draws.keyed(round_, seeds, positions)
        seed = torch.repeat_interleave(seeds, round_.num_drafts)
        place = torch.arange(len(seed)) - round_.first_row.repeat_interleave(round_.num_drafts)
        accept = uniform(keys(seed, positions[0] + place, Stream.ACCEPT))
        return Draws(accept, draws.repair, draws.own)

    tokens = second_tokens("block", by_position)
    assert abs((tokens == 0).double().mean().item() - 1 / 3) > 20 * sqrt(2 / 9 / len(tokens))
