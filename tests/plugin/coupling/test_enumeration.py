"""Proof by enumeration, in exact rationals: the law of the committed tokens is the target's, for every exact rule.

The reference below enumerates all draft sequences of a small world and, for each, the probabilities with which a rule
keeps each prefix and repairs it, as rationals. The shipped code is tied to it by thresholds: for the same drafts its
decision must change exactly where the reference says (tests/…/test_token.py does the same by bisection on laws).
"""

from fractions import Fraction
from itertools import product
from random import Random

import pytest
import torch

from verispec.coupling import RULES, Draws, Round

F = Fraction
Law = tuple[Fraction, ...]


class World:
    """Context-dependent laws over `vocab` tokens: p and q at every prefix up to `gamma` tokens."""

    def __init__(self, vocab, gamma, p, q):
        self.vocab, self.gamma, self.p, self.q = vocab, gamma, p, q


def random_law(random, vocab, zeros) -> Law:
    while True:
        weights = [0 if random.random() < zeros else random.randint(1, 9) for _ in range(vocab)]
        if any(weights):
            return tuple(F(w, sum(weights)) for w in weights)


def one_hot(vocab, token) -> Law:
    return tuple(F(int(t == token)) for t in range(vocab))


def over_confident(law, token) -> Law:
    return tuple((97 * F(int(t == token)) + weight) / 98 for t, weight in enumerate(law))


def random_world(seed) -> World:
    """Each kind in turn: plain, with zeros, identical, over-confident q, disjoint supports, point-mass q, greedy p."""
    random = Random(seed)
    vocab, gamma = random.choice([(2, 1), (2, 2), (2, 3), (2, 4), (3, 1), (3, 2), (3, 3), (4, 2)])
    kind = seed % 7
    prefixes = [prefix for length in range(gamma + 1) for prefix in product(range(vocab), repeat=length)]
    p = {prefix: random_law(random, vocab, 0.4 if kind == 1 else 0) for prefix in prefixes}
    q = {prefix: random_law(random, vocab, 0.4 if kind == 1 else 0) for prefix in prefixes}
    if kind == 2:
        q = p
    if kind == 3:
        q = {prefix: over_confident(law, random.randrange(vocab)) for prefix, law in q.items()}
    if kind == 4:
        half = vocab // 2
        p = {prefix: (*random_law(random, half, 0), *[F(0)] * (vocab - half)) for prefix in prefixes}
        q = {prefix: (*[F(0)] * half, *random_law(random, vocab - half, 0)) for prefix in prefixes}
    if kind == 5:
        q = {prefix: one_hot(vocab, random.randrange(vocab)) for prefix in prefixes}
    if kind == 6:
        p = {prefix: one_hot(vocab, random.randrange(vocab)) for prefix in prefixes}
    return World(vocab, gamma, p, q)


def positive_part(p, q) -> tuple[Fraction, ...]:
    return tuple(max(F(0), a - b) for a, b in zip(p, q, strict=True))


def normalised(weights, otherwise) -> Law:
    total = sum(weights)
    return tuple(w / total for w in weights) if total else otherwise


def token_reference(world, draft):
    """[probability of keeping exactly i drafts], [law of the repair after i drafts] for i < γ."""
    keep, repairs, reached = [], [], F(1)
    for i, x in enumerate(draft):
        p, q = world.p[draft[:i]], world.q[draft[:i]]
        accept = min(F(1), p[x] / q[x])
        keep.append(reached * (1 - accept))
        repairs.append(normalised(positive_part(p, q), p))
        reached *= accept
    return [*keep, reached], repairs


def block_reference(world, draft):
    weights = [F(1)]
    for i, x in enumerate(draft):
        weights.append(min(F(1), weights[-1] * world.p[draft[:i]][x] / world.q[draft[:i]][x]))
    gamma, may, repairs = len(draft), [F(1)], []
    for i in range(gamma):
        p, q = world.p[draft[:i]], world.q[draft[:i]]
        missing = positive_part([weights[i] * a for a in p], q)
        repairs.append(normalised(missing, p))
        if i:
            gap = sum(missing) + 1 - weights[i]
            may.append(sum(missing) / gap if gap else F(1))
    may.append(weights[gamma])
    keep, longer = [F(0)] * (gamma + 1), F(1)
    for i in range(gamma, -1, -1):
        keep[i] = longer * may[i]
        longer *= 1 - may[i]
    return keep, repairs


def wrong_repair_reference(world, draft):
    """The tempting mistake: after a rejection draw from the whole of p."""
    keep, _ = token_reference(world, draft)
    return keep, [world.p[draft[:i]] for i in range(len(draft))]


REFERENCES = {"token": token_reference, "block": block_reference}


def drafts_of(world, stops=frozenset(), draft=(), chance=1):
    """(draft, its probability under q); the drafter stops where it has drafted γ tokens or one of `stops`."""
    if len(draft) == world.gamma or draft in stops:
        yield draft, chance
        return
    for token, q in enumerate(world.q[draft]):
        if q:
            yield from drafts_of(world, stops, (*draft, token), chance * q)


def continued(world, prefix, length):
    """Law of `prefix` continued to `length` tokens by the target itself."""
    laws = {prefix: F(1)}
    for _ in range(length - len(prefix)):
        laws = {(*s, t): c * world.p[s][t] for s, c in laws.items() for t in range(world.vocab)}
    return laws


def committed_law(world, reference, stops=frozenset()):
    """Law of the first γ + 1 tokens when one round is completed by the target, and the mean of kept drafts."""
    law, mean = {}, F(0)
    length = world.gamma + 1
    for draft, chance in drafts_of(world, stops):
        keep, repairs = reference(world, draft)
        assert sum(keep) == 1
        for i, kept in enumerate(keep):
            mean += chance * kept * i
            last = repairs[i] if i < len(draft) else world.p[draft]
            for token in range(world.vocab):
                weight = chance * kept * last[token]
                if weight:
                    for sequence, c in continued(world, (*draft[:i], token), length).items():
                        law[sequence] = law.get(sequence, F(0)) + weight * c
    return law, mean


def target_law(world):
    return continued(world, (), world.gamma + 1)


def nonzero(law):
    return {sequence: c for sequence, c in law.items() if c}


SEEDS = range(42)


@pytest.mark.parametrize("rule", REFERENCES)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_committed_law_is_exactly_the_targets(rule, seed):
    world = random_world(seed)
    law, _ = committed_law(world, REFERENCES[rule])
    assert nonzero(law) == nonzero(target_law(world))


@pytest.mark.parametrize("seed", SEEDS)
def test_block_never_keeps_fewer_and_gains_nothing_where_theory_says_so(seed):
    world = random_world(seed)
    (_, token), (_, block) = (committed_law(world, reference) for reference in REFERENCES.values())
    assert block >= token
    if world.gamma == 1 or seed % 7 in (5, 6):
        assert block == token


def decide(rule, world, draft, accept, repair):
    """The shipped rule on one draft with given uniforms: (kept, last token)."""
    rows = [[float(x) for x in world.p[draft[:i]]] for i in range(len(draft))]
    q_rows = [[float(x) for x in world.q[draft[:i]]] for i in range(len(draft))]
    round_ = Round(
        draft_token_ids=torch.tensor(draft),
        cu_num_draft_tokens=torch.tensor([len(draft)]),
        target_probs=torch.tensor(rows, dtype=torch.float64),
        draft_probs=torch.tensor(q_rows, dtype=torch.float64),
        point_mass=None,
        bonus_token_ids=torch.tensor([0]),
    )
    verdict = RULES[rule].decide(
        round_,
        Draws(
            accept=torch.tensor(accept, dtype=torch.float64),
            repair=torch.full((len(draft),), repair, dtype=torch.float64),
            own=torch.zeros(len(draft), dtype=torch.int64),
        ),
    )
    kept = verdict.num_accepted.item()
    return kept, verdict.token_ids[0, kept].item()


EDGE = 1e-9


def thresholds(rule, world, draft):
    """Per row, below which uniform the reference lets its draft (token) or the prefix that ends there (block) pass."""
    if rule == "token":
        return [min(F(1), world.p[draft[:i]][x] / world.q[draft[:i]][x]) for i, x in enumerate(draft)]
    weights, may = [F(1)], []
    for i, x in enumerate(draft):
        weights.append(min(F(1), weights[-1] * world.p[draft[:i]][x] / world.q[draft[:i]][x]))
    for i in range(1, len(draft)):
        missing = sum(positive_part([weights[i] * a for a in world.p[draft[:i]]], world.q[draft[:i]]))
        gap = missing + 1 - weights[i]
        may.append(missing / gap if gap else F(1))
    return [*may, weights[-1]][: len(draft)]


def expected_kept(rule, passes):
    """Token: up to the first that does not pass; block: up to the last that passes."""
    if rule == "token":
        return next((i for i, passed in enumerate(passes) if not passed), len(passes))
    return max((i + 1 for i, passed in enumerate(passes) if passed), default=0)


def check_shipped_code(rule, world, draft):
    edges = [float(edge) for edge in thresholds(rule, world, draft)]
    sides = [[s for s in (edge - EDGE, edge + EDGE) if 0 <= s < 1] for edge in edges]
    _, repairs = REFERENCES[rule](world, draft)
    for accept in product(*sides):
        passes = [u < edge for u, edge in zip(accept, edges, strict=True)]
        kept = expected_kept(rule, passes)
        if kept == len(draft):
            assert decide(rule, world, draft, accept, 0.5)[0] == kept
            continue
        start = 0.0
        for token, mass in enumerate(repairs[kept]):
            if mass:
                middle = start + float(mass) / 2
                assert decide(rule, world, draft, accept, middle) == (kept, token)
            start += float(mass)


@pytest.mark.parametrize("rule", REFERENCES)
@pytest.mark.parametrize("seed", range(0, 42, 2))
def test_the_shipped_code_decides_as_the_enumeration_says(rule, seed):
    """For every draft of the world, uniforms just below and just above each threshold; then the repair's law."""
    world = random_world(seed)
    for draft, _ in drafts_of(world):
        check_shipped_code(rule, world, draft)


def constant_world(p, q, gamma) -> World:
    prefixes = [prefix for length in range(gamma + 1) for prefix in product(range(len(p)), repeat=length)]
    return World(len(p), gamma, dict.fromkeys(prefixes, p), dict.fromkeys(prefixes, q))


def test_toy_of_block_verification():
    """V = 2, γ = 2, P = (1/3, 2/3), Q = (2/3, 1/3): the token rule keeps 10/9 drafts, block keeps 11/9."""
    world = constant_world((F(1, 3), F(2, 3)), (F(2, 3), F(1, 3)), 2)
    assert committed_law(world, token_reference)[1] == F(10, 9)
    assert committed_law(world, block_reference)[1] == F(11, 9)


def test_the_wrong_repair_of_the_worked_example():
    world = constant_world((F(5, 10), F(3, 10), F(2, 10)), (F(6, 10), F(1, 10), F(3, 10)), 1)
    law, _ = committed_law(world, wrong_repair_reference)
    first = [sum(c for sequence, c in law.items() if sequence[0] == t) for t in range(3)]
    assert first == [F(60, 100), F(16, 100), F(24, 100)]
