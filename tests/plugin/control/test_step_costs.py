"""Step costs are learned as they are: bumpy, noisy, drifting."""

import numpy as np
import pytest

from verispec.control import Batch, Step
from verispec.control.step_costs import StepCosts


def bumpy(tokens, requests, kv_tokens):
    """Seconds on a machine on which 8 rows are cheaper than 2."""
    shape = np.interp(tokens, [1, 2, 4, 8, 16, 32, 80], [0.07, 0.12, 0.14, 0.105, 0.12, 0.156, 0.245])
    return shape + 4e-6 * kv_tokens + 2e-4 * requests + 1e-3 * (tokens > requests)


def measured(costs, steps, rng, cost=bumpy, noise=0.05):
    for tokens, requests, kv_tokens in steps:
        seconds = cost(tokens, requests, kv_tokens) * np.exp(noise * rng.standard_normal())
        costs.observe(Step(Batch(requests, kv_tokens), tokens - requests, seconds))


def seconds_of(costs, tokens, requests, kv_tokens):
    return costs.seconds(Batch(requests, kv_tokens), np.array(tokens) - requests)


def random_steps(count, rng):
    for _ in range(count):
        requests = int(rng.choice([1, 2, 4, 8, 16]))
        yield requests + int(rng.integers(0, 3 * requests + 8)), requests, int(requests * rng.integers(50, 600))


def test_nothing_is_known_before_anything_was_measured():
    assert seconds_of(StepCosts(), [1, 5], 1, 100).tolist() == [0.0, 0.0]
    assert not StepCosts().known(1)


def test_a_cost_that_is_neither_linear_nor_monotone_is_learned():
    rng, costs = np.random.default_rng(0), StepCosts()
    measured(costs, random_steps(1500, rng), rng)
    errors = [
        float(seconds_of(costs, [tokens], requests, kv)[0]) / bumpy(tokens, requests, kv) - 1
        for tokens, requests, kv in random_steps(200, rng)
    ]
    assert np.median(np.abs(errors)) < 0.03
    assert seconds_of(costs, [8], 2, 500) < seconds_of(costs, [2], 2, 500)


def test_what_was_never_tried_is_expected_to_cost_what_its_neighbours_do():
    rng, costs = np.random.default_rng(0), StepCosts()
    measured(costs, [(1, 1, 100)] * 100, rng)
    one, five = seconds_of(costs, [1, 5], 1, 100)
    assert one == pytest.approx(bumpy(1, 1, 100), rel=0.03)
    assert five == pytest.approx(one, rel=0.05)
    assert costs.known(1)
    assert not costs.known(5)


def test_beyond_what_was_tried_costs_go_on_along_the_line_through_it():
    """A few sizes are enough to know that four times the largest does not cost the same."""
    rng, costs = np.random.default_rng(0), StepCosts()
    line = lambda tokens, *_: 0.06 + 0.0015 * tokens  # noqa: E731
    measured(costs, [(16, 16, 4000), (40, 16, 4000), (80, 16, 4000)] * 3, rng, cost=line)
    assert seconds_of(costs, [320], 16, 4000)[0] == pytest.approx(line(320), rel=0.15)


def test_tokens_of_prompts_have_a_cost_of_their_own():
    rng, costs = np.random.default_rng(0), StepCosts()
    line = lambda tokens, prompt: 0.06 + 0.0015 * tokens - 0.0005 * prompt  # noqa: E731
    for _ in range(400):
        requests, prompt, drafts = int(rng.choice([1, 4, 16])), int(rng.choice([0, 0, 100, 300])), rng.integers(0, 60)
        seconds = line(requests + prompt + drafts, prompt) * np.exp(0.05 * rng.standard_normal())
        costs.observe(Step(Batch(requests, 100 * requests, prompt), int(drafts), seconds))
    for prompt in (0, 200):
        expected = costs.seconds(Batch(16, 1600, prompt), np.array([0, 40]))
        assert expected == pytest.approx([line(16 + prompt, prompt), line(56 + prompt, prompt)], rel=0.05)


def test_long_steps_that_read_prompts_do_not_hide_what_short_ones_cost():
    """A thousand prompt tokens take thirty times as long as a step of four requests."""
    rng, costs = np.random.default_rng(0), StepCosts()
    for _ in range(400):
        prompt, drafts = int(rng.choice([0, 0, 300, 1500])), int(rng.integers(0, 33))
        seconds = (0.03 + 0.002 * (4 + prompt + drafts)) * np.exp(0.03 * rng.standard_normal())
        costs.observe(Step(Batch(4, 1600, prompt), drafts, seconds))
    expected = costs.seconds(Batch(4, 1600), np.array([0, 1, 8, 32]))
    assert expected == pytest.approx([0.038, 0.04, 0.054, 0.102], rel=0.1)


def test_what_only_prompts_reached_is_not_in_the_table():
    costs = StepCosts()
    for _ in range(50):
        costs.observe(Step(Batch(4, 400), 4, 0.05))
        costs.observe(Step(Batch(4, 400, 500), 4, 0.5))
    assert costs.table().tokens == [8]
    assert costs.reach == 8
    assert not costs.known(508)


def test_one_slow_step_does_not_rule_a_size_out():
    """Else it would never be tried again, and what is believed of it never be mended."""
    rng, costs = np.random.default_rng(0), StepCosts()
    line = lambda tokens, requests, kv_tokens: 0.048 + 0.002 * tokens  # noqa: E731
    measured(costs, [(1 + drafts, 1, 100) for drafts in (0, 2, 8) * 20], rng, line)
    costs.observe(Step(Batch(1, 100), 4, 0.1))
    measured(costs, [(1 + drafts, 1, 100) for drafts in (0, 2, 8) * 3], rng, line)
    assert float(seconds_of(costs, [5], 1, 100)[0]) < 1.15 * 0.058


def test_steps_that_are_far_off_change_little():
    rng, costs = np.random.default_rng(0), StepCosts()
    measured(costs, [(4, 4, 400), (16, 4, 400)] * 100, rng)
    before = seconds_of(costs, [4, 16], 4, 400)
    measured(costs, [(4, 4, 400)] * 5, rng, cost=lambda *step: 20 * bumpy(*step))
    assert seconds_of(costs, [4, 16], 4, 400) == pytest.approx(before, rel=0.1)


def test_a_machine_that_has_become_slower_is_slower_at_all_sizes_soon():
    rng, costs = np.random.default_rng(0), StepCosts()
    measured(costs, [(4, 4, 400), (16, 4, 400)] * 200, rng)
    measured(costs, [(4, 4, 400)] * 120, rng, cost=lambda *step: 1.5 * bumpy(*step))
    four, sixteen = seconds_of(costs, [4, 16], 4, 400)
    assert four == pytest.approx(1.5 * bumpy(4, 4, 400), rel=0.05)
    assert sixteen == pytest.approx(1.5 * bumpy(16, 4, 400), rel=0.1)


def test_what_was_measured_long_ago_is_no_longer_known():
    rng, costs = np.random.default_rng(0), StepCosts()
    measured(costs, [(40, 4, 400)] * 5, rng)
    assert costs.known(40)
    measured(costs, [(4, 4, 400)] * 1000, rng)
    assert not costs.known(40)


def test_the_table_holds_what_is_known():
    rng, costs = np.random.default_rng(0), StepCosts()
    measured(costs, [(4, 4, 400), (16, 4, 400)] * 50, rng)
    assert StepCosts().table() is None
    assert costs.table().tokens == [4, 16]


def test_a_calibration_is_known_from_the_first_step_and_follows_the_machine():
    rng, calibrated = np.random.default_rng(0), StepCosts()
    measured(calibrated, random_steps(1500, rng), rng)
    costs = StepCosts(calibrated.table())
    steps = [(4, 4, 800), (16, 4, 800), (2, 2, 400)]
    for tokens, requests, kv in steps:
        assert costs.known(tokens)
        assert seconds_of(costs, [tokens], requests, kv)[0] == pytest.approx(bumpy(tokens, requests, kv), rel=0.08)
    measured(costs, steps * 50, rng, cost=lambda *step: 2 * bumpy(*step))
    for tokens, requests, kv in [*steps, (8, 2, 400)]:
        twice = 2 * bumpy(tokens, requests, kv)
        assert seconds_of(costs, [tokens], requests, kv)[0] == pytest.approx(twice, rel=0.12)
