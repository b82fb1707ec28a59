"""Whether a drawn token is submitted may not depend on that token; stopping *after* it may. In exact rationals.

A drafter that looks at the token it drew from q and then keeps it to itself submits a draft whose law is no longer q,
and where it submits nothing the target's own draw comes on top: the law bends. A drafter that submits the token and
drafts no further has only chosen the length of the rest, for which every length is exact.
"""

from fractions import Fraction as F
from random import Random

import pytest
import torch

from tests.plugin.coupling.test_enumeration import (
    REFERENCES,
    check_shipped_code,
    committed_law,
    constant_world,
    drafts_of,
    nonzero,
    random_world,
    target_law,
    token_reference,
)
from verispec.coupling import RULES, Draws, Round
from verispec.coupling.sampling import draw

A, B, C = range(3)
P, Q = (F(5, 10), F(3, 10), F(2, 10)), (F(6, 10), F(1, 10), F(3, 10))
BENT = (F(65, 100), F(29, 100), F(6, 100))


def test_withholding_a_token_that_was_drawn_bends_the_law_of_the_worked_example():
    world, law = constant_world(P, Q, 1), [F(0)] * 3
    for x in (A, B, C):
        if x == C:
            law = [mass + Q[C] * p for mass, p in zip(law, P, strict=True)]
            continue
        (rejected, kept), (repair,) = token_reference(world, (x,))
        law = [mass + Q[x] * (kept * (t == x) + rejected * repair[t]) for t, mass in enumerate(law)]
    assert tuple(law) == BENT


@pytest.mark.parametrize("rule", ["token", "block"])
def test_the_shipped_code_cannot_help_it(rule):
    """All rounds of a grid of uniforms that resolves 5/6, 2/3 and tenths: with A or B as the draft, without one for C.

    Counted, not estimated.
    """
    n = 30
    grid = (torch.arange(n, dtype=torch.float64) + 0.5) / n
    accept, repair = (u.reshape(-1) for u in torch.meshgrid(grid, grid, indexing="ij"))
    p, q = (torch.tensor([[float(x) for x in law]], dtype=torch.float64).expand(n * n, 3) for law in (P, Q))
    law = [F(0)] * 3
    for x in (A, B, C):
        submitted = 0 if x == C else n * n
        round_ = Round(
            draft_token_ids=torch.full((submitted,), x),
            cu_num_draft_tokens=torch.zeros(n * n, dtype=torch.int64) if x == C else torch.arange(1, n * n + 1),
            target_probs=p[:submitted],
            draft_probs=q[:submitted],
            point_mass=None,
            bonus_token_ids=draw(p, repair),
        )
        own = torch.zeros(submitted, dtype=torch.int64)
        tokens = RULES[rule].decide(round_, Draws(accept[:submitted], repair[:submitted], own)).token_ids[:, 0]
        counts = torch.bincount(tokens, minlength=3).tolist()
        law = [mass + Q[x] * F(count, n * n) for mass, count in zip(law, counts, strict=True)]
    assert tuple(law) == BENT


def random_stops(world, seed):
    """Any set of drafts after which the drafter stops; the empty one among them drafts nothing at all."""
    random = Random(seed)
    prefixes = {draft[:i] for draft, _ in drafts_of(world) for i in range(world.gamma)}
    return frozenset(prefix for prefix in sorted(prefixes) if random.random() < 0.35)


@pytest.mark.parametrize("rule", REFERENCES)
@pytest.mark.parametrize("seed", range(84))
def test_stopping_after_a_token_that_was_looked_at_keeps_the_targets_law(rule, seed):
    """For block, weights and h are those of the drafts that were submitted."""
    world = random_world(seed)
    law, _ = committed_law(world, REFERENCES[rule], random_stops(world, seed))
    assert nonzero(law) == nonzero(target_law(world))


@pytest.mark.parametrize("rule", REFERENCES)
@pytest.mark.parametrize("seed", range(1, 42, 2))
def test_the_shipped_code_decides_stopped_drafts_as_the_enumeration_says(rule, seed):
    world = random_world(seed)
    for draft, _ in drafts_of(world, random_stops(world, seed)):
        check_shipped_code(rule, world, draft)


def test_stopping_after_c_is_free_where_withholding_it_is_not():
    world = constant_world(P, Q, 3)
    for reference in REFERENCES.values():
        law, _ = committed_law(world, reference, frozenset({(C,), (A, C), (B, C)}))
        assert nonzero(law) == nonzero(target_law(world))


@pytest.mark.parametrize("rule", REFERENCES)
@pytest.mark.parametrize("seed", range(5, 84, 7))
def test_point_masses_may_be_submitted_or_withheld_at_will(rule, seed):
    """What is drafted is a function of the history: any number of the drafts, looked at or not, gives the same law.

    Each number does by itself; so does any choice of it that is made before the target has drawn.
    """
    world = random_world(seed)
    (draft, chance), *others = drafts_of(world)
    assert (chance, others) == (1, [])
    for submitted in range(world.gamma + 1):
        law, _ = committed_law(world, REFERENCES[rule], {draft[:submitted]})
        assert nonzero(law) == nonzero(target_law(world))
