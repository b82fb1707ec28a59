"""The statistic by hand; what its bound, its p value and its stated size promise, by simulation."""

import numpy as np
import pytest
from scipy import stats

from verispec_bench.exactness.law import compare_laws, holm

LAWS = [np.array([0.45, 0.20, 0.15, 0.10, 0.10]), np.array([0.25, 0.20, 0.10, 0.05, 0.40])]
POSITIONS = 8
ANCHOR_TV = 0.0485


def shifted(law, tv):
    """A law at this distance."""
    return law + tv * np.array([0.7, 0.3, -0.5, 0, -0.5])


def sample(rng, laws, completions, dependence=0.0):
    """Bin shares for each prompt; `dependence` is the correlation of the positions of one completion."""
    made = []
    for law in laws:
        own = rng.dirichlet(law * (1 / dependence - 1), size=completions) if dependence else law
        made.append(rng.multinomial(POSITIONS, own, size=completions) / POSITIONS)
    return made


def compared(rng, completions, tv=0.0, dependence=0.0):
    """The baseline has twice the completions, as in a verification."""
    arm = [shifted(law, tv) for law in LAWS]
    return compare_laws(sample(rng, LAWS, completions, dependence), sample(rng, arm, completions // 2, dependence))


def test_the_statistic_by_hand():
    """Two bins, one pair each: shares (2, 2)/4 and (3, 1)/4, variances of the means (1/3)/4 and (1/4)/4."""
    hit, miss = [1.0, 0.0], [0.0, 1.0]
    found = compare_laws([np.array([hit, hit, miss, miss])], [np.array([hit, hit, hit, miss])])
    error = np.sqrt(1 / 12 + 1 / 16)
    assert found.tv == pytest.approx(0.25)
    assert found.tv_upper == pytest.approx(0.25 + 1.6449 * error)
    assert found.tv_floor == pytest.approx(2 * error / np.sqrt(2 * np.pi))
    assert (found.statistic, found.degrees_of_freedom) == (pytest.approx(0.25**2 / error**2), 1)
    assert found.p_value == pytest.approx(stats.chi2.sf(3 / 7, 1))


def test_prompts_count_alike_however_many_completions_they_have():
    """Shift .5 in one of two prompts, which has a third of the completions: the mean law moves by .25."""
    hit, miss = [1.0, 0.0], [0.0, 1.0]
    still, moved = np.array([hit, miss] * 20), np.array([hit] * 20)
    found = compare_laws([still, np.array([hit, miss] * 10)], [still, moved])
    assert found.tv == pytest.approx(0.25)


def test_laws_without_any_spread_are_told_apart_or_not():
    same, other = np.array([[1.0, 0.0]] * 5), np.array([[0.0, 1.0]] * 5)
    assert (compare_laws([same], [same]).p_value, compare_laws([same], [same]).tv_upper) == (1, 0)
    assert (compare_laws([same], [other]).p_value, compare_laws([same], [other]).tv_upper) == (0, 1)


@pytest.mark.parametrize("dependence", [0.0, 0.2])
@pytest.mark.parametrize("tv", [0.0, 0.01, ANCHOR_TV])
def test_the_bound_covers_the_true_distance_at_least_95_times_in_100(tv, dependence):
    rng = np.random.default_rng(1)
    covered = np.mean([compared(rng, 300, tv, dependence).tv_upper >= tv for _ in range(1000)])
    assert covered >= 0.95


@pytest.mark.parametrize("dependence", [0.0, 0.2])
def test_p_values_of_exact_arms_are_uniform_where_it_matters(dependence):
    rng = np.random.default_rng(2)
    p_values = np.array([compared(rng, 400, dependence=dependence).p_value for _ in range(1500)])
    assert 0.035 < np.mean(p_values < 0.05) < 0.065
    assert np.mean(p_values < 0.001) < 0.004


def test_the_floor_is_the_mean_distance_of_two_samples_of_the_same_law():
    rng = np.random.default_rng(3)
    found = [compared(rng, 400) for _ in range(500)]
    assert np.mean([test.tv for test in found]) == pytest.approx(found[0].tv_floor, rel=0.05)


def test_the_distance_of_a_bug_that_shipped_is_found():
    """2,000 completions, the strictest of six tests under Holm at .001."""
    rng = np.random.default_rng(4)
    assert max(compared(rng, 2000, ANCHOR_TV).p_value for _ in range(100)) < 0.001 / 6


def test_an_exact_arm_of_the_stated_size_passes_95_times_in_100():
    rng = np.random.default_rng(5)
    completions = round(400 * compared(rng, 400).size_factor(0.04))
    passed = np.mean([compared(rng, completions).tv_upper <= 0.04 for _ in range(2000)])
    assert passed == pytest.approx(0.95, abs=0.015)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
