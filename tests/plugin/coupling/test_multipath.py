"""Multi-path verification: its law by enumeration in exact rationals, its edges, and planted mistakes.

The reference walks all outcomes of given paths with their probabilities as rationals. The shipped code is tied to it
as in test_enumeration.py: for uniforms just below and just above each threshold on the way to an outcome it must decide
just so, and then draw the last token from the reference's law.
"""

from fractions import Fraction as F
from itertools import pairwise, product
from typing import NamedTuple

import pytest
import torch
from scipy import stats

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
from verispec.coupling import RULES, Draws, Round, multipath, residual, verify_paths
from verispec.coupling.multipath import PathDraws, Paths
from verispec.coupling.sampling import draw

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


VOCAB, GAMMA, PATHS, LENGTH = 5, 3, 3, 3
TRIALS = 10_000
LEVEL = 1e-4


def markov(seed):
    """Row 0 at the start, row 1 + t after token t."""
    weights = torch.rand(1 + VOCAB, VOCAB, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.05
    return weights / weights.sum(-1, keepdim=True)


P_ROWS, Q_ROWS = markov(1), markov(2)


def drafted(trials, generator, num_paths=PATHS):
    """Arguments of verify_paths for i.i.d. paths through the Markov world."""
    last = torch.full((trials, num_paths), -1)
    ids, p, q = [], [P_ROWS[1 + last]], []
    for _ in range(GAMMA):
        q.append(Q_ROWS[1 + last])
        last = torch.multinomial(q[-1].reshape(-1, VOCAB), 1, generator=generator).reshape(trials, num_paths)
        ids.append(last)
        p.append(P_ROWS[1 + last])
    return {
        "draft_token_ids": torch.stack(ids, -1),
        "target_probs": torch.stack(p, -2),
        "draft_probs": torch.stack(q, -2),
    }


def completed(tokens, generator):
    """The first LENGTH tokens; those that the round left open are drawn from the target."""
    tokens = tokens[:, :LENGTH].clone()
    last = torch.full((len(tokens),), -1)
    for place in range(LENGTH):
        drawn = torch.multinomial(P_ROWS[1 + last], 1, generator=generator).squeeze(-1)
        last = tokens[:, place] = torch.where(tokens[:, place] < 0, drawn, tokens[:, place])
    return tokens


def p_value(sequences):
    exact = torch.stack(
        [
            torch.stack([P_ROWS[1 + s, t] for s, t in pairwise((-1, *tokens))]).prod()
            for tokens in product(range(VOCAB), repeat=LENGTH)
        ]
    )
    places = VOCAB ** torch.arange(LENGTH - 1, -1, -1)
    counts = torch.bincount((sequences * places).sum(-1), minlength=VOCAB**LENGTH)
    return float(stats.chisquare(counts.numpy(), (exact * len(sequences)).numpy()).pvalue)


def repaired_from_the_whole_of_p(arguments, generator, monkeypatch):
    verdict = verify_paths(**arguments, generator=generator)
    kept, tokens = verdict.num_accepted, verdict.token_ids
    before = torch.nn.functional.pad(tokens, (1, 0), value=-1).gather(1, kept.unsqueeze(1)).squeeze(1)
    tokens.scatter_(1, kept.unsqueeze(1), torch.multinomial(P_ROWS[1 + before], 1, generator=generator))
    return tokens


def with_residual(law):
    """The shipped code with another residual after each rejected candidate."""

    def mutant(arguments, generator, monkeypatch):
        monkeypatch.setattr(multipath, "residual", law)
        return verify_paths(**arguments, generator=generator).token_ids

    return mutant


def updated_once(p, q):
    return torch.where((p == 0).any(-1, keepdim=True), p, residual(p, q))


def copies_of_the_first_path(arguments, generator, monkeypatch):
    """Candidates that are not drawn anew."""
    copies = {name: tensor[:, :1].expand_as(tensor) for name, tensor in arguments.items()}
    return verify_paths(**copies, generator=generator).token_ids


def q_of_another_depth(arguments, generator, monkeypatch):
    return verify_paths(
        **arguments | {"draft_probs": arguments["draft_probs"].roll(1, 2)}, generator=generator
    ).token_ids


MUTANTS = {
    "repair from the whole of p": repaired_from_the_whole_of_p,
    "residual never updated": with_residual(lambda p, q: p),
    "residual updated after the first rejection only": with_residual(updated_once),
    "paths that are copies of one": copies_of_the_first_path,
    "q of another depth": q_of_another_depth,
}


def test_the_shipped_rule_raises_no_alarm():
    generator = torch.Generator().manual_seed(11)
    verdict = verify_paths(**drafted(TRIALS, generator), generator=generator)
    assert p_value(completed(verdict.token_ids, generator)) > LEVEL


@pytest.mark.parametrize("mutant", MUTANTS)
def test_planted_mistakes_are_caught(mutant, monkeypatch):
    generator = torch.Generator().manual_seed(11)
    tokens = MUTANTS[mutant](drafted(TRIALS, generator), generator, monkeypatch)
    assert p_value(completed(tokens, generator)) < LEVEL**2


def uniforms(batch, num_paths=PATHS, seed=3):
    generator = torch.Generator().manual_seed(seed)
    return PathDraws(
        torch.rand(batch, num_paths, GAMMA, generator=generator, dtype=torch.float64),
        torch.rand(batch, generator=generator, dtype=torch.float64),
    )


def decide(arguments, draws, rows=slice(None), paths=slice(None)):
    chosen = Paths(**{name: tensor[rows, paths] for name, tensor in arguments.items()})
    return multipath.decide(chosen, PathDraws(draws.accept[rows, paths], draws.last[rows]))


@pytest.mark.parametrize("uniform", [0.0, 0.3, 0.6, 0.99])
def test_one_path_is_decided_as_by_the_token_rule(uniform):
    batch = 500
    arguments, draws = drafted(batch, torch.Generator().manual_seed(4), num_paths=1), uniforms(batch, 1)
    last = torch.full((batch * GAMMA,), uniform, dtype=torch.float64)
    target = arguments["target_probs"][:, 0]
    token = RULES["token"].decide(
        Round(
            draft_token_ids=arguments["draft_token_ids"].reshape(-1),
            cu_num_draft_tokens=torch.arange(GAMMA, batch * GAMMA + 1, GAMMA),
            target_probs=target[:, :GAMMA].reshape(-1, VOCAB),
            draft_probs=arguments["draft_probs"].reshape(-1, VOCAB),
            point_mass=None,
            bonus_token_ids=draw(target[:, GAMMA], last[:batch]),
        ),
        Draws(draws.accept.reshape(-1), last, torch.zeros(batch * GAMMA, dtype=torch.int64)),
    )
    verdict = decide(arguments, PathDraws(draws.accept, last[:batch]))
    assert torch.equal(verdict.token_ids, token.token_ids)
    assert torch.equal(verdict.num_accepted, token.num_accepted)


def test_a_further_path_never_shortens_what_is_kept():
    arguments, draws = drafted(2000, torch.Generator().manual_seed(5)), uniforms(2000)
    kept = [decide(arguments, draws, paths=slice(paths)).num_accepted for paths in (1, 2, 3)]
    assert (kept[0] <= kept[1]).all()
    assert (kept[1] <= kept[2]).all()
    assert kept[0].sum() < kept[1].sum() < kept[2].sum()


def test_the_kept_drafts_are_the_first_of_the_path_that_is_named():
    arguments = drafted(500, torch.Generator().manual_seed(6))
    verdict = decide(arguments, uniforms(500))
    for ids, tokens, kept, path in zip(
        arguments["draft_token_ids"].tolist(), *(x.tolist() for x in vars(verdict).values()), strict=True
    ):
        assert tokens[:kept] == ids[path][:kept]
        assert all(token >= 0 for token in tokens[: kept + 1])
        assert all(token == -1 for token in tokens[kept + 1 :])
    assert verdict.path.unique().tolist() == [0, 1, 2]


def test_equal_laws_keep_the_whole_first_path():
    arguments = drafted(300, torch.Generator().manual_seed(7))
    arguments["target_probs"][:, :, :GAMMA] = arguments["draft_probs"]
    verdict = verify_paths(**arguments)
    assert verdict.num_accepted.tolist() == [GAMMA] * 300
    assert verdict.path.tolist() == [0] * 300


def test_distinct_point_masses_are_kept_with_their_joint_probability():
    """Two candidates that were picked, not drawn: kept with p(0) + p(1); the repair is one of the others."""
    p, q = torch.tensor([0.5, 0.2, 0.3], dtype=torch.float64), torch.eye(3, dtype=torch.float64)
    uniform = (torch.arange(100, dtype=torch.float64) + 0.5) / 100
    first, second = (grid.reshape(-1) for grid in torch.meshgrid(uniform, uniform, indexing="ij"))
    paths = Paths(
        torch.tensor([[[0], [1]]]).expand(10_000, 2, 1),
        p.expand(10_000, 2, 2, 3),
        q[:2].reshape(1, 2, 1, 3).expand(10_000, 2, 1, 3),
    )
    verdict = multipath.decide(paths, PathDraws(torch.stack([first, second], 1).unsqueeze(-1), first))
    assert float(verdict.num_accepted.double().mean()) == pytest.approx(0.7)
    assert verdict.token_ids[verdict.num_accepted == 0, 0].unique().tolist() == [2]


def test_a_draft_that_q_cannot_have_drawn_is_no_candidate():
    arguments = drafted(200, torch.Generator().manual_seed(8))
    impossible = {name: tensor.clone() for name, tensor in arguments.items()}
    impossible["draft_probs"][:, 0, 1].scatter_(-1, impossible["draft_token_ids"][:, 0, 1:2], 0)
    arguments["draft_token_ids"][:, 0, 1] = -1
    with_zero, with_padding = (decide(a, uniforms(200)) for a in (impossible, arguments))
    assert torch.equal(with_zero.token_ids, with_padding.token_ids)


def test_a_missing_path_changes_nothing():
    arguments, draws = drafted(200, torch.Generator().manual_seed(9)), uniforms(200)
    arguments["draft_token_ids"][:, 1] = -1
    arguments["draft_probs"][:, 1] = float("nan")
    arguments["target_probs"][:, 1, 1:] = float("nan")
    with_it, without_it = decide(arguments, draws), decide(arguments, draws, paths=[0, 2])
    assert torch.equal(with_it.token_ids, without_it.token_ids)
    assert torch.equal(with_it.path, without_it.path * 2)


def test_without_any_draft_the_token_is_the_targets():
    p = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    paths = Paths(torch.full((3, 2, 1), -1), p.expand(3, 2, 2, 3), torch.full((3, 2, 1, 3), float("nan")))
    last = torch.tensor([0.49, 0.51, 0.81], dtype=torch.float64)
    verdict = multipath.decide(paths, PathDraws(torch.zeros(3, 2, 1, dtype=torch.float64), last))
    assert verdict.token_ids.tolist() == [[0, -1], [1, -1], [2, -1]]
    no_depth = verify_paths(
        draft_token_ids=torch.zeros(3, 2, 0, dtype=torch.int64),
        target_probs=torch.eye(3).reshape(3, 1, 1, 3).expand(3, 2, 1, 3),
        draft_probs=torch.zeros(3, 2, 0, 3),
    )
    assert no_depth.token_ids.tolist() == [[0], [1], [2]]


def test_requests_are_independent_of_their_place_in_the_batch():
    arguments, draws = drafted(50, torch.Generator().manual_seed(10)), uniforms(50)
    arguments["draft_token_ids"][::3, 1, 1:] = -1
    together = decide(arguments, draws)
    order = torch.randperm(50, generator=torch.Generator().manual_seed(1))
    assert torch.equal(decide(arguments, draws, order).token_ids, together.token_ids[order])
    alone = torch.cat([decide(arguments, draws, [row]).token_ids for row in range(50)])
    assert torch.equal(alone, together.token_ids)


def test_an_empty_batch_gives_an_empty_verdict():
    verdict = verify_paths(**{name: tensor[:0] for name, tensor in drafted(1, None).items()})
    assert verdict.token_ids.shape == (0, GAMMA + 1)


def test_float32_decides_as_float64():
    arguments, draws = drafted(2000, torch.Generator().manual_seed(12)), uniforms(2000)
    single = {name: t.float() if t.is_floating_point() else t.int() for name, t in arguments.items()}
    single["draft_token_ids"] = single["draft_token_ids"].long()
    same = (decide(arguments, draws).token_ids == decide(single, draws).token_ids).all(-1)
    assert (~same).sum() <= 1


def test_a_generator_makes_the_verdict_reproducible():
    arguments = drafted(100, torch.Generator().manual_seed(13))
    first, second = (verify_paths(**arguments, generator=torch.Generator().manual_seed(1)) for _ in range(2))
    assert torch.equal(first.token_ids, second.token_ids)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_inputs_are_not_changed(dtype):
    arguments = drafted(100, torch.Generator().manual_seed(14))
    arguments = {name: t.to(dtype) if t.is_floating_point() else t for name, t in arguments.items()}
    before = {name: tensor.clone() for name, tensor in arguments.items()}
    verify_paths(**arguments)
    assert all(torch.equal(before[name], arguments[name]) for name in arguments)


def with_value(name, place, value):
    arguments = drafted(2, torch.Generator().manual_seed(15))
    arguments[name][place] = value
    return arguments


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (with_value("draft_token_ids", (1, 0, 2), VOCAB), r"draft_token_ids: row \[1, 0, 2\] is outside \[-1, 5\)"),
        (with_value("draft_token_ids", (0, 1, 0), -2), r"draft_token_ids: row \[0, 1, 0\]"),
        (with_value("target_probs", (1, 2, 3, 4), float("nan")), r"target_probs: row \[1, 2, 3\] holds NaN"),
        (with_value("draft_probs", (1, 2, 2, 4), float("nan")), r"draft_probs: row \[1, 2, 2\] holds NaN"),
        (drafted(2, None) | {"draft_token_ids": torch.zeros(2, 3)}, r"draft_token_ids: shape \(2, 3\)"),
        (drafted(2, None) | {"draft_token_ids": torch.zeros(2, 0, 3)}, r"draft_token_ids: shape \(2, 0, 3\)"),
        (
            drafted(2, None) | {"target_probs": torch.zeros(2, 3, 3, 5)},
            r"target_probs: shape \(2, 3, 3, 5\), expected \(2, 3, 4, 5\)",
        ),
        (drafted(2, None) | {"draft_probs": torch.zeros(2, 3, 3, 4)}, r"draft_probs: shape \(2, 3, 3, 4\)"),
    ],
)
def test_a_wrong_argument_is_named_with_its_row(arguments, message):
    with pytest.raises(ValueError, match=message):
        verify_paths(**arguments)
