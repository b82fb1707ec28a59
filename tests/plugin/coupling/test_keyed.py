"""Counter-based draws: functions of (seed, position, stream), independent of each other, uniform."""

from itertools import product

import pytest
import torch
from scipy import stats

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
