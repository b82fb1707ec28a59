"""Would we notice? Planted mistakes against the statistical tests, with the power of each, and the false alarms.

An experiment serves many sequences of four tokens through rounds of γ = 3 drafts and compares them with the enumerated
law (χ², 81 bins), and the mean number of kept drafts in the first round with its enumerated value (z). Every mutant
must be caught by one of the two with a power of at least .99 at the suite's level; the table is printed with `-rP`.
"""

from functools import cache
from itertools import pairwise, product
from math import sqrt

import pytest
import torch
from scipy import stats
from torch import Tensor

from tests.plugin.coupling.mutants import GAMMA, LENGTH, MUTANTS, VOCAB, P, Q, Rounds, shipped
from verispec.coupling import total_variation

TRIALS = 200_000
SUITE_LEVEL = 1e-3
TESTS = 2 * len(MUTANTS)
LEVEL = SUITE_LEVEL / TESTS
"""Of one test, so that the whole table raises a false alarm in at most one suite of a thousand (Bonferroni ≥ Holm)."""


def serve(round_of, rule, trials, seed) -> tuple[Tensor, Tensor]:
    """(sequences [trials, 4], drafts kept in the first round)."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.full((trials, LENGTH + GAMMA + 1), -1)
    lengths, first = torch.zeros(trials, dtype=torch.int64), None
    while (open_ := (lengths < LENGTH).nonzero().squeeze(-1)).numel():
        at = lengths[open_]
        last = torch.where(at > 0, tokens[open_, (at - 1).clamp_min(0)], -1)
        committed, kept = round_of(Rounds(last, generator, rule))
        first = kept if first is None else first
        tokens[open_.unsqueeze(1), at.unsqueeze(1) + torch.arange(GAMMA + 1)] = committed
        lengths[open_] += (committed >= 0).sum(-1)
    return tokens[:, :LENGTH], first


@cache
def exact_law() -> Tensor:
    return torch.stack(
        [
            torch.stack([P[1 + s, t] for s, t in pairwise((-1, *tokens))]).prod()
            for tokens in product(range(VOCAB), repeat=LENGTH)
        ]
    )


@cache
def exact_kept(rule) -> tuple[float, float]:
    """Mean and standard deviation of the drafts kept in the first round, enumerated."""
    law = torch.zeros(GAMMA + 1, dtype=torch.float64)
    for draft in product(range(VOCAB), repeat=GAMMA):
        rows = [0, *(1 + t for t in draft)]
        chance = torch.stack([Q[rows[i], x] for i, x in enumerate(draft)]).prod()
        # The gumbel rule keeps a draft that knows nothing of its keys with probability p(x).
        ratios = [float(P[rows[i], x] / (1 if rule == "gumbel" else Q[rows[i], x])) for i, x in enumerate(draft)]
        may, weight = [], 1.0
        for i in range(GAMMA):
            weight = min(1.0, weight * ratios[i])
            missing = float((weight * P[rows[i + 1]] - Q[rows[i + 1]]).clamp_min(0).sum()) if i + 1 < GAMMA else 0.0
            gap = missing + 1 - weight
            may.append(weight if i + 1 == GAMMA else (missing / gap if gap > 1e-12 else 1.0))
        rest = 1.0
        if rule == "block":
            for i in range(GAMMA, 0, -1):
                law[i] += chance * rest * may[i - 1]
                rest *= 1 - may[i - 1]
            law[0] += chance * rest
        else:
            for i, ratio in enumerate(ratios):
                law[i] += chance * rest * (1 - min(1.0, ratio))
                rest *= min(1.0, ratio)
            law[GAMMA] += chance * rest
    counts = torch.arange(GAMMA + 1)
    mean = float((law * counts).sum())
    return mean, sqrt(float((law * counts**2).sum()) - mean**2)


def chi_square(sequences) -> float:
    places = VOCAB ** torch.arange(LENGTH - 1, -1, -1)
    counts = torch.bincount((sequences * places).sum(-1), minlength=VOCAB**LENGTH)
    expected = len(sequences) * exact_law()
    return float(((counts - expected) ** 2 / expected).sum())


def z_score(kept, rule) -> float:
    mean, deviation = exact_kept(rule)
    return (float(kept.double().mean()) - mean) / (deviation / sqrt(len(kept)))


def powers(statistic: float, z: float) -> tuple[float, float]:
    """Lower bounds (3 standard errors below what was seen) of the power of both tests at LEVEL and TRIALS."""
    df = VOCAB**LENGTH - 1
    shift_seen = statistic - df
    shift_low = max(0.0, shift_seen - 3 * sqrt(2 * (df + 2 * max(0.0, shift_seen))))
    by_law = float(stats.ncx2.sf(stats.chi2.isf(LEVEL, df), df, shift_low)) if shift_low else LEVEL
    by_kept = float(stats.norm.sf(stats.norm.isf(LEVEL / 2) - max(0.0, abs(z) - 3)))
    return by_law, by_kept


def test_every_mutant_is_caught_with_power_of_at_least_99_percent():
    survivors = []
    print(f"\n{'rule':<6} {'mutant':<42} {'law: chi2':>10} {'power':>6} {'kept: z':>9} {'power':>6}")
    for seed, ((rule, name), mutant) in enumerate(MUTANTS.items()):
        sequences, kept = serve(mutant, rule, TRIALS, seed)
        statistic, z = chi_square(sequences), z_score(kept, rule)
        by_law, by_kept = powers(statistic, z)
        print(f"{rule:<6} {name:<42} {statistic:>10.0f} {by_law:>6.3f} {z:>9.1f} {by_kept:>6.3f}")
        if max(by_law, by_kept) < 0.99:
            survivors.append(f"{rule}: {name}")
    assert survivors == []


@pytest.mark.parametrize("rule", ["token", "block", "gumbel"])
def test_the_shipped_rule_raises_no_alarm(rule):
    sequences, kept = serve(shipped, rule, TRIALS, seed=99)
    assert stats.chi2.sf(chi_square(sequences), VOCAB**LENGTH - 1) > LEVEL
    assert 2 * stats.norm.sf(abs(z_score(kept, rule))) > LEVEL


@pytest.mark.parametrize("rule", ["token", "block", "gumbel"])
def test_at_most_one_false_alarm_in_a_thousand_null_runs(rule):
    """Both tests at the level at which the table uses them."""
    batches, runs_in_batch, each = 20, 50, 2000
    limit, limit_kept = stats.chi2.isf(LEVEL, VOCAB**LENGTH - 1), stats.norm.isf(LEVEL / 2)
    alarms = 0
    for seed in range(batches):
        sequences, kept = serve(shipped, rule, runs_in_batch * each, seed)
        alarms += sum(
            chi_square(some) > limit or abs(z_score(k, rule)) > limit_kept
            for some, k in zip(sequences.split(each), kept.split(each), strict=True)
        )
    assert alarms <= 1


def test_overlap_is_the_rate_at_which_single_drafts_are_kept():
    _, kept = serve(shipped, "token", TRIALS, seed=5)
    rate = 1 - float(total_variation(P[0], Q[0]))
    assert float((kept > 0).double().mean()) == pytest.approx(rate, abs=5 * sqrt(rate * (1 - rate) / TRIALS))
