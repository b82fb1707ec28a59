"""Multi-path verification: planted mistakes, the edges, the token rule as its case of one path."""

from itertools import pairwise, product

import pytest
import torch
from scipy import stats

from verispec.coupling import RULES, Draws, Round, multipath, residual, verify_paths
from verispec.coupling.multipath import PathDraws, Paths
from verispec.coupling.sampling import draw

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
