"""The token rule: what it decides for given draws, and the law that it commits."""

from fractions import Fraction
from itertools import product

import pytest
import torch

from verispec.coupling import RULES, Draws, Round, verify

P = (Fraction(5, 10), Fraction(3, 10), Fraction(2, 10))
Q = (Fraction(6, 10), Fraction(1, 10), Fraction(3, 10))


def floats(rows) -> torch.Tensor:
    return torch.tensor([[float(x) for x in row] for row in rows], dtype=torch.float64)


def decide(drafts, target, draft=None, accept=None, repair=0.0, point_mass=None):
    """One request through the shipped rule, with given draws; (token ids, number accepted)."""
    round_ = Round(
        draft_token_ids=torch.tensor(drafts, dtype=torch.int64),
        cu_num_draft_tokens=torch.tensor([len(drafts)]),
        target_probs=floats(target),
        draft_probs=None if draft is None else floats(draft),
        point_mass=None if point_mass is None else torch.tensor(point_mass),
        bonus_token_ids=torch.tensor([2]),
    )
    accept = torch.tensor(accept or [0.0] * len(drafts), dtype=torch.float64)
    own = torch.zeros(len(drafts), dtype=torch.int64)
    verdict = RULES["token"].decide(round_, Draws(accept, torch.full_like(accept, repair), own))
    return [t for t in verdict.token_ids[0].tolist() if t >= 0], verdict.num_accepted.item()


@pytest.mark.parametrize(("draft", "probability"), [(0, 5 / 6), (1, 1.0), (2, 2 / 3)])
def test_acceptance_probability_is_min_1_p_over_q(draft, probability):
    below, above = probability - 1e-9, probability + 1e-9
    assert decide([draft], [P], [Q], [below])[1] == 1
    if probability < 1:
        assert decide([draft], [P], [Q], [above]) == ([1], 0)  # the residual is a point mass at token 1


def test_law_of_one_position_is_the_target_exactly():
    """Both halves of the decision by enumeration: E_q[accept] of each token, plus rejected mass times the residual.

    Acceptance thresholds and residual intervals are found by bisection on the shipped code, not recomputed here.
    """
    law = [0.0] * 3
    for draft, q in enumerate(Q):
        accepted = boundary(lambda u, x=draft: decide([x], [P], [Q], [u])[1] == 1)
        law[draft] += float(q) * accepted
        if accepted < 1:
            rest = float(q) * (1 - accepted)
            edges = [
                boundary(lambda u, x=draft, t=t: decide([x], [P], [Q], [1 - 1e-12], u)[0][0] <= t) for t in range(3)
            ]
            for token, (low, high) in enumerate(zip([0.0, *edges], edges, strict=False)):
                law[token] += rest * (high - low)
    assert law == pytest.approx([float(p) for p in P], abs=1e-9)


def boundary(holds) -> float:
    """Largest u in [0, 1) up to which a monotone condition holds; 0 if it never does, 1 if always."""
    if not holds(0.0):
        return 0.0
    if holds(1 - 1e-12):
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def test_first_rejection_cuts_the_block():
    never, always = [0, 0, 1], [1, 0, 0]
    assert decide([0, 0, 0], [always, never, always], None, [0.5] * 3) == ([0, 2], 1)


def test_raw_accepts_after_a_rejection_do_not_count():
    never, always = [0, 0, 1], [1, 0, 0]
    assert decide([0, 0, 0, 0, 0], [never, always, never, never, never])[1] == 0


def test_all_accepted_gives_the_bonus():
    always = [1, 0, 0]
    assert decide([0, 0], [always, always]) == ([0, 0, 2], 2)


def test_minus_one_is_rejected_and_repaired_from_the_target_itself():
    assert decide([-1], [P], [Q], [0.0], 0.2) == ([0], 0)
    assert decide([-1], [P], None, [0.0], 0.6) == ([1], 0)
    assert decide([-1], [P], None, [0.0], 0.9) == ([2], 0)


def test_point_mass_rows_do_not_read_their_q():
    nan = [float("nan")] * 3
    drafts, target = [1, 1], [[0, 1, 0], P]
    assert decide(drafts, target, [nan, nan], [0.9, 0.29], point_mass=[True, True])[1] == 2
    assert decide(drafts, target, [nan, nan], [0.9, 0.31], 0.0, point_mass=[True, True]) == ([1, 0], 1)


def test_repair_of_a_point_mass_never_repeats_the_draft():
    for u in (0.0, 0.3, 0.6, 0.999):
        assert decide([0], [P], None, [0.9], u)[0][0] != 0


def test_identical_laws_accept_everything():
    """100 faces, p = q: independent draws match 1% of the time, the coupling accepts all."""
    p = torch.full((1000, 100), 0.01, dtype=torch.float64)
    verdict = verify(
        "token",
        draft_token_ids=torch.randint(0, 100, (1000,)),
        cu_num_draft_tokens=torch.arange(1, 1001),
        target_probs=p,
        draft_probs=p,
        bonus_token_ids=torch.zeros(1000, dtype=torch.int64),
    )
    assert verdict.num_accepted.tolist() == [1] * 1000


def test_requests_are_independent_of_their_place_in_the_batch():
    """Every order of three ragged requests gives each the verdict that it has alone."""
    requests = [([0, 1], [P, Q], [Q, P], [0.5, 0.9], 0.3), ([], [], [], [], 0.1), ([2], [P], [Q], [0.9], 0.7)]
    alone = [decide(d, t, q, a, r) if d else ([2], 0) for d, t, q, a, r in requests]
    for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)):
        chosen = [requests[i] for i in order]
        round_ = Round(
            draft_token_ids=torch.tensor([x for d, *_ in chosen for x in d]),
            cu_num_draft_tokens=torch.tensor([len(d) for d, *_ in chosen]).cumsum(0),
            target_probs=floats([row for _, t, *_ in chosen for row in t]),
            draft_probs=floats([row for _, _, q, *_ in chosen for row in q]),
            point_mass=None,
            bonus_token_ids=torch.tensor([2, 2, 2]),
        )
        accept = torch.tensor([u for *_, a, _ in chosen for u in a], dtype=torch.float64)
        repair = torch.tensor([r for d, *_, r in chosen for _ in d], dtype=torch.float64)
        verdict = RULES["token"].decide(round_, Draws(accept, repair, torch.zeros(len(accept), dtype=torch.int64)))
        for row, i in enumerate(order):
            tokens = [t for t in verdict.token_ids[row].tolist() if t >= 0]
            assert (tokens, verdict.num_accepted[row].item()) == alone[i]


def test_inputs_are_not_changed():
    arguments = {
        "draft_token_ids": torch.tensor([0, 2]),
        "cu_num_draft_tokens": torch.tensor([1, 2]),
        "target_probs": floats([P, P]),
        "draft_probs": floats([Q, Q]),
        "bonus_token_ids": torch.tensor([1, 1]),
        "point_mass": torch.tensor([True, False]),
    }
    before = {name: tensor.clone() for name, tensor in arguments.items()}
    verify("token", **arguments)
    assert all(torch.equal(before[name], arguments[name]) for name in arguments)


def test_two_position_law_is_the_target_within_sampling_error():
    """γ = 2 on context-dependent laws, 200,000 trials: each two-token outcome within 5 standard errors of exact."""
    trials, generator = 200_000, torch.Generator().manual_seed(5)
    target = {(): (0.5, 0.3, 0.2), 0: (0.2, 0.55, 0.25), 1: (0.15, 0.25, 0.6), 2: (0.65, 0.2, 0.15)}
    draft = {(): (0.6, 0.1, 0.3), 0: (0.3, 0.5, 0.2), 1: (0.25, 0.2, 0.55), 2: (0.55, 0.3, 0.15)}
    rows = torch.tensor([target[i] for i in range(3)], dtype=torch.float64)
    q_rows = torch.tensor([draft[i] for i in range(3)], dtype=torch.float64)
    first = torch.multinomial(torch.tensor(draft[()]), trials, replacement=True, generator=generator)
    second = torch.multinomial(q_rows[first], 1, generator=generator).squeeze(1)
    p = torch.stack([torch.tensor(target[()], dtype=torch.float64).expand(trials, 3), rows[first]], 1)
    q = torch.stack([torch.tensor(draft[()], dtype=torch.float64).expand(trials, 3), q_rows[first]], 1)
    verdict = verify(
        "token",
        draft_token_ids=torch.stack([first, second], 1).reshape(-1),
        cu_num_draft_tokens=torch.arange(2, 2 * trials + 1, 2),
        target_probs=p.reshape(-1, 3),
        draft_probs=q.reshape(-1, 3),
        bonus_token_ids=torch.zeros(trials, dtype=torch.int64),
        generator=generator,
    )
    tokens = verdict.token_ids[:, :2]
    missing = tokens[:, 1] < 0  # the round ended after one token: the target's own next draw completes it
    completion = torch.multinomial(rows[tokens[:, 0]], 1, generator=generator).squeeze(1)
    outcome = tokens[:, 0] * 3 + torch.where(missing, completion, tokens[:, 1])
    counts = torch.bincount(outcome, minlength=9).tolist()
    for i, j in product(range(3), repeat=2):
        exact = target[()][i] * target[i][j]
        error = (exact * (1 - exact) / trials) ** 0.5
        assert abs(counts[3 * i + j] / trials - exact) < 5 * error
