"""Multi-path verification by enumeration, in exact rationals: its law, and how many drafts it keeps.

The reference walks all outcomes of given paths with their probabilities as rationals. The shipped code is tied to it
as in test_enumeration.py: for uniforms just below and just above each threshold on the way to an outcome it must decide
just so, and then draw the last token from the reference's law.
"""

from fractions import Fraction as F
from itertools import product
from typing import NamedTuple

import pytest
import torch

from tests.plugin.coupling.test_enumeration import (
    World,
    constant_world,
    continued,
    drafts_of,
    nonzero,
    normalised,
    one_hot,
    positive_part,
    random_world,
    target_law,
)
from verispec.coupling import multipath
from verispec.coupling.multipath import PathDraws, Paths

EDGE = 1e-9


class Step(NamedTuple):
    """One candidate that was tried, and the uniform below which it is kept."""

    depth: int
    path: int
    threshold: F
    kept: bool


class Outcome(NamedTuple):
    """One way in which given paths can be decided."""

    chance: F
    steps: tuple[Step, ...]
    committed: tuple[int, ...]
    last: tuple[F, ...]
    path: int


def outcomes(world, drafters, paths):
    """All outcomes of nonzero chance. Path i, a tuple of up to γ tokens, was drawn from drafters[i]: {prefix: law}."""

    def walk(chance, steps, committed, path):
        law, depth = world.p[committed], len(committed)
        for i, drafts in enumerate(paths):
            if len(drafts) == depth or drafts[:depth] != committed:
                continue
            x, q = drafts[depth], drafters[i][committed]
            accept = min(F(1), law[x] / q[x])
            if accept:
                kept = (*steps, Step(depth, i, accept, True))
                yield from walk(chance * accept, kept, (*committed, x), i)
            if accept == 1:
                return
            chance *= 1 - accept
            steps = (*steps, Step(depth, i, accept, False))
            law = normalised(positive_part(law, q), None)
        yield Outcome(chance, steps, committed, law, path)

    return list(walk(F(1), (), (), 0))


def draws_of(world, drafters, lengths):
    """(paths, their probability): path i is cut to lengths[i] tokens."""
    each = []
    for drafter, length in zip(drafters, lengths, strict=True):
        law = {}
        for draft, chance in drafts_of(World(world.vocab, world.gamma, world.p, drafter)):
            law[draft[:length]] = law.get(draft[:length], F(0)) + chance
        each.append(law.items())
    for choice in product(*each):
        chance = F(1)
        for _, c in choice:
            chance *= c
        yield tuple(path for path, _ in choice), chance


def committed_law(world, drafters, lengths):
    """Law of the first γ + 1 tokens when one round is completed by the target, and the law of the drafts kept."""
    law, kept = {}, [F(0)] * (world.gamma + 1)
    for paths, drawn in draws_of(world, drafters, lengths):
        results = outcomes(world, drafters, paths)
        assert sum(o.chance for o in results) == 1
        for outcome in results:
            chance = drawn * outcome.chance
            kept[len(outcome.committed)] += chance
            for token in range(world.vocab):
                if outcome.last[token]:
                    prefix = (*outcome.committed, token)
                    for sequence, c in continued(world, prefix, world.gamma + 1).items():
                        law[sequence] = law.get(sequence, F(0)) + chance * outcome.last[token] * c
    return law, kept


def setting(seed):
    """A world, the drafters and the lengths of as many paths as enumerate quickly: i.i.d. and whole in two of four."""
    world = random_world(seed)
    most = max(k for k in (1, 2, 3) if k == 1 or world.vocab ** (k * world.gamma) <= 256)
    drafters, lengths = [world.q] * most, [world.gamma] * most
    if seed % 4 == 2:  # other drafters: the target itself, then the point mass at each prefix's likeliest token
        likeliest = {prefix: one_hot(world.vocab, law.index(max(law))) for prefix, law in world.p.items()}
        drafters = [world.q, world.p, likeliest][:most]
    if seed % 4 == 3:  # ragged: the first path is short, the last one missing
        lengths = [world.gamma - 1, world.gamma, 0][:most]
    return world, drafters, lengths


def mean(law):
    return sum(i * c for i, c in enumerate(law))


SEEDS = range(42)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_committed_law_is_exactly_the_targets(seed):
    world, drafters, lengths = setting(seed)
    law, _ = committed_law(world, drafters, lengths)
    assert nonzero(law) == nonzero(target_law(world))


def tensors(world, drafters, paths):
    """Paths as the shipped code takes them: float [paths, γ (+ 1), vocab] and int [paths, γ], -1 beyond the ends.

    Rows that must not be read would be noticed: NaN for p, and a q under which the padding looks drawn.
    """
    nan, misleading = [float("nan")] * world.vocab, [float(token == 0) for token in range(world.vocab)]
    p, q, ids = [], [], []
    for drafter, drafts in zip(drafters, paths, strict=True):
        rows, missing = range(len(drafts)), world.gamma - len(drafts)
        p.append([[float(x) for x in world.p[drafts[:i]]] for i in (*rows, len(drafts))] + [nan] * missing)
        q.append([[float(x) for x in drafter[drafts[:i]]] for i in rows] + [misleading] * missing)
        ids.append([*drafts, *[-1] * missing])
    return torch.tensor(ids), torch.tensor(p, dtype=torch.float64), torch.tensor(q, dtype=torch.float64)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_shipped_code_decides_as_the_enumeration_says(seed):
    """All drafts, outcomes and last tokens of a world as one batch; uniforms that must not be read are 0.

    So is that of a draft which p cannot have drawn.
    """
    world, drafters, lengths = setting(seed)
    ids, p, q, accept, last, expected = [], [], [], [], [], []
    for paths, _ in draws_of(world, drafters, lengths):
        of_paths = tensors(world, drafters, paths)
        for outcome in outcomes(world, drafters, paths):
            uniforms = torch.zeros(len(paths), world.gamma, dtype=torch.float64)
            for step in outcome.steps:
                side = -EDGE if step.kept else EDGE if step.threshold else 0
                uniforms[step.path, step.depth] = float(step.threshold) + side
            start = 0.0
            for token, mass in enumerate(outcome.last):
                if mass:
                    for rows, row in zip((ids, p, q), of_paths, strict=True):
                        rows.append(row)
                    accept.append(uniforms)
                    last.append(start + float(mass) / 2)
                    tokens = (*outcome.committed, token)
                    padding = [-1] * (world.gamma + 1 - len(tokens))
                    expected.append(([*tokens, *padding], len(outcome.committed), outcome.path))
                start += float(mass)
    verdict = multipath.decide(
        Paths(torch.stack(ids), torch.stack(p), torch.stack(q)),
        PathDraws(torch.stack(accept), torch.tensor(last, dtype=torch.float64)),
    )
    got = (verdict.token_ids.tolist(), verdict.num_accepted.tolist(), verdict.path.tolist())
    assert list(zip(*got, strict=True)) == expected


P, Q = (F(5, 10), F(3, 10), F(2, 10)), (F(6, 10), F(1, 10), F(3, 10))


def best_acceptance(p, q, num_paths):
    """The largest chance, over all couplings, that a token of p is among i.i.d. draws of q (by minimal cuts)."""
    subsets = product((False, True), repeat=len(p))

    def mass(law, subset):
        return sum((w for w, inside in zip(law, subset, strict=True) if inside), F(0))

    return min(2 - mass(p, s) - (1 - mass(q, s)) ** num_paths for s in subsets)


def test_worked_example_is_accepted_more_with_each_path_but_below_the_best_coupling():
    """p = (.5, .3, .2), q = (.6, .1, .3): the residual is token 1, which each further path drafts with .1."""
    world, kept = constant_world(P, Q, 1), []
    for paths in (1, 2, 3, 4):
        _, law = committed_law(world, [world.q] * paths, [1] * paths)
        kept.append(law[1])
    assert kept == [F("0.8"), F("0.82"), F("0.838"), F("0.8542")]
    best = [best_acceptance(P, Q, paths) for paths in (1, 2, 3, 4)]
    assert best == [F("0.8"), F("0.89"), F("0.971"), F(1)]


def test_worked_example_over_two_positions():
    """Two paths: .82 for the first draft; .8 · .82 for the second, and .02 more where both begin with what is kept.

    That is .82 + (.8 · .82 + .02 · (.5 · .6 + .1 · .1 + .2 · .3)) = 1.4834; one path keeps .8 + .8² = 1.44.
    """
    world = constant_world(P, Q, 2)
    kept = [mean(committed_law(world, [world.q] * paths, [2] * paths)[1]) for paths in (1, 2, 3)]
    assert kept == [F("1.44"), F("1.4834"), F("1.522842")]


@pytest.mark.parametrize("seed", range(0, 42, 3))
def test_more_paths_never_keep_less_and_never_more_than_the_best_coupling(seed):
    world, drafters, _ = setting(seed)
    before = F(0)
    for paths in range(1, len(drafters) + 1):
        _, law = committed_law(world, [world.q] * paths, [world.gamma] * paths)
        assert before <= mean(law) <= world.gamma
        before = mean(law)
        first = 1 - law[0]
        assert first <= best_acceptance(world.p[()], world.q[()], paths)
        if paths == 1:
            assert first == best_acceptance(world.p[()], world.q[()], paths)
