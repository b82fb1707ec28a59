"""Overlap, total variation and residual: the mission's worked example, and their identities."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from verispec.coupling import overlap, residual, total_variation

P = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
Q = torch.tensor([0.6, 0.1, 0.3], dtype=torch.float64)


def test_worked_example():
    assert overlap(P, Q).item() == pytest.approx(0.8)
    assert total_variation(P, Q).item() == pytest.approx(0.2)
    assert residual(P, Q).tolist() == pytest.approx([0, 1, 0])


def test_residual_of_equal_laws_is_the_law_itself():
    assert residual(P, P).tolist() == P.tolist()


weights = st.lists(st.integers(0, 9), min_size=2, max_size=6).filter(any)


@given(weights, st.randoms(use_true_random=False))
def test_accepted_and_repaired_mass_add_up_to_the_target(p_weights, random):
    p = torch.tensor(p_weights, dtype=torch.float64)
    p /= p.sum()
    q = torch.tensor([random.random() * random.choice((0, 1)) for _ in p_weights], dtype=torch.float64)
    q = q / q.sum() if q.sum() > 0 else torch.full_like(q, 1 / len(q))
    rebuilt = torch.minimum(p, q) + total_variation(p, q) * residual(p, q)
    torch.testing.assert_close(rebuilt, p, atol=1e-12, rtol=0)
    assert overlap(p, q).item() == pytest.approx(1 - total_variation(p, q).item())


def test_last_axis_is_the_vocabulary():
    p, q = P.expand(2, 4, 3), Q.expand(2, 4, 3)
    assert overlap(p, q).shape == (2, 4)
    assert residual(p, q).shape == (2, 4, 3)
