"""What every rule promises for any round: ragged batches, all kinds of rows, given draws.

Hypothesis draws sizes and a seed; the tensors come from a generator with that seed. The rows of one round mix sampled
and greedy targets, drafts with a q of their own, from the target itself or from elsewhere, and point masses.
"""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from verispec.coupling import RULES, Draws, Round, verify
from verispec.coupling.sampling import draw, race

NAN = float("nan")
ALMOST_ONE = 1 - 2**-53
every_rule = pytest.mark.parametrize("rule", RULES)
seeds = st.integers(0, 2**31)
counts = st.lists(st.integers(0, 6), min_size=1, max_size=5)
vocabs = st.sampled_from([2, 3, 7, 40, 300])
some = settings(max_examples=30)


def laws(rows, vocab, generator):
    """Random laws, two entries in five zero."""
    weights = torch.rand(rows, vocab, generator=generator, dtype=torch.float64).pow(3)
    weights[torch.rand(rows, vocab, generator=generator) < 0.4] = 0
    weights.scatter_(1, torch.randint(vocab, (rows, 1), generator=generator), 0.5)
    return weights / weights.sum(-1, keepdim=True)


def one_hot(tokens, vocab):
    return torch.nn.functional.one_hot(tokens.clamp_min(0), vocab).double()


def round_of(counts, vocab, seed):
    """(round, draws). A third of the rows is greedy, a quarter each has p = q, a point mass, a one-hot q, another q.

    One draft in ten is -1, one in ten any token, whatever its q; q is NaN where it must not be read.
    """
    generator = torch.Generator().manual_seed(seed)
    rows = sum(counts)

    def picked(share):
        return torch.rand(rows, generator=generator) < share

    p, q, kind = laws(rows, vocab, generator), laws(rows, vocab, generator), picked(0.5).long() * 2 + picked(0.5)
    greedy = picked(1 / 3)
    p[greedy] = one_hot(p.argmax(-1), vocab)[greedy]
    q[kind == 1] = p[kind == 1]
    q[kind >= 2] = one_hot(torch.multinomial(q + 1 / vocab, 1, generator=generator).squeeze(-1), vocab)[kind >= 2]
    drafts = torch.multinomial(q, 1, generator=generator).squeeze(-1) if rows else torch.zeros(0, dtype=torch.int64)
    drafts = torch.where(picked(0.1), torch.randint(vocab, (rows,), generator=generator), drafts)
    drafts[picked(0.1)] = -1
    point_mass = kind == 2
    q[point_mass | (drafts < 0)] = NAN
    round_ = Round(
        draft_token_ids=drafts,
        cu_num_draft_tokens=torch.tensor(counts).cumsum(0),
        target_probs=p,
        draft_probs=q,
        point_mass=point_mass,
        bonus_token_ids=torch.randint(vocab, (len(counts),), generator=generator),
    )
    return round_, random_draws(rows, generator)


def random_draws(rows, generator):
    """Now and then the largest and the smallest number that a uniform can be."""
    uniforms = torch.rand(2, rows, generator=generator, dtype=torch.float64)
    uniforms[torch.rand(2, rows, generator=generator) < 0.1] = ALMOST_ONE
    uniforms[torch.rand(2, rows, generator=generator) < 0.1] = 0
    own = torch.empty(rows, dtype=torch.int64).random_(-(2**63), None, generator=generator)
    return Draws(*uniforms, own)


rounds = st.builds(round_of, counts, vocabs, seeds)


def decide(rule, round_, draws, **options):
    return RULES[rule].decide(round_, draws, **options)


def of_request(round_, draws, row):
    """(round, draws) of one request alone."""
    start, count = round_.first_row[row], round_.num_drafts[row]
    rows = slice(start, start + count)
    alone = Round(
        draft_token_ids=round_.draft_token_ids[rows],
        cu_num_draft_tokens=count.reshape(1),
        target_probs=round_.target_probs[rows],
        draft_probs=round_.draft_probs[rows],
        point_mass=round_.point_mass[rows],
        bonus_token_ids=round_.bonus_token_ids[row : row + 1],
    )
    return alone, Draws(draws.accept[rows], draws.repair[rows], draws.own[rows])


def requests(round_, verdict):
    """Per request: (row of its first draft, its drafts, how many were kept, its row of the verdict)."""
    for start, count, kept, tokens in zip(
        round_.first_row.tolist(),
        round_.num_drafts.tolist(),
        verdict.num_accepted.tolist(),
        verdict.token_ids.tolist(),
        strict=True,
    ):
        yield start, round_.draft_token_ids[start : start + count].tolist(), kept, tokens


def check_first_rejection(round_, verdict):
    assert verdict.token_ids.shape == (len(round_.num_drafts), round_.width + 1)
    for row, (_, drafts, kept, tokens) in enumerate(requests(round_, verdict)):
        assert 0 <= kept <= len(drafts)
        assert tokens[:kept] == drafts[:kept]
        assert tokens[kept] >= 0
        assert all(token == -1 for token in tokens[kept + 1 :])
        if kept == len(drafts):
            assert tokens[kept] == round_.bonus_token_ids[row]


def check_support(round_, verdict):
    for start, drafts, kept, tokens in requests(round_, verdict):
        for row, token in enumerate(tokens[: min(kept + 1, len(drafts))], start):
            assert round_.target_probs[row, token] > 0


@every_rule
@some
@given(case=rounds)
def test_no_draft_outside_the_targets_support_is_kept_and_no_repair_lies_outside(rule, case):
    check_support(case[0], decide(rule, *case))


@pytest.mark.parametrize("rule", ["token", "block"])
@some
@given(case=rounds)
def test_a_draft_that_q_cannot_have_drawn_is_rejected_and_repaired_from_the_target(rule, case):
    round_, draws = case
    drawable = round_.draft_probs.gather(1, round_.draft_token_ids.clamp_min(0).unsqueeze(1)).squeeze(1) > 0
    impossible = ~(drawable | round_.point_mass)
    own = draw(round_.target_probs, draws.repair)
    for start, drafts, kept, tokens in requests(round_, decide(rule, *case)):
        assert not impossible[start : start + kept].any()
        if kept < len(drafts) and impossible[start + kept]:
            assert tokens[kept] == own[start + kept]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rule", ["token", "block"])
@some
@given(counts=counts, vocab=vocabs, seed=seeds)
def test_equal_laws_keep_everything(rule, dtype, counts, vocab, seed):
    round_, draws = round_of(counts, vocab, seed)
    p = round_.target_probs.to(dtype)
    drafts = draw(p, draws.repair)
    round_ = replace(round_, draft_token_ids=drafts, target_probs=p, draft_probs=p, point_mass=None)
    assert torch.equal(decide(rule, round_, draws).num_accepted, round_.num_drafts)


@every_rule
@settings(max_examples=8)
@given(counts=st.lists(st.integers(0, 128), min_size=1, max_size=4), vocab=st.sampled_from([2, 40]), seed=seeds)
def test_more_drafts_than_could_be_wanted_are_judged_like_any(rule, counts, vocab, seed):
    """And all of them can be kept: with p = q = the point mass at each draft."""
    round_, draws = round_of([*counts, 128], vocab, seed)
    verdict = decide(rule, round_, draws)
    check_first_rejection(round_, verdict)
    check_support(round_, verdict)
    drafts = round_.draft_token_ids.clamp_min(0)
    sure = one_hot(drafts, vocab)
    sure = replace(round_, draft_token_ids=drafts, target_probs=sure, draft_probs=sure)
    assert torch.equal(decide(rule, sure, draws).num_accepted, sure.num_drafts)


@every_rule
@some
@given(case=rounds)
def test_after_the_first_rejected_draft_exactly_one_token_and_the_bonus_where_all_were_kept(rule, case):
    check_first_rejection(case[0], decide(rule, *case))


@pytest.mark.parametrize("rule", ["token", "typical"])
@some
@given(case=rounds)
def test_drafts_beyond_the_first_rejection_are_not_read(rule, case):
    """The block rule does read them: they can make up for it."""
    round_, draws = case
    verdict = decide(rule, round_, draws)
    request = torch.repeat_interleave(torch.arange(len(round_.num_drafts)), round_.num_drafts)
    beyond = torch.arange(len(request)) > (round_.first_row + verdict.num_accepted)[request]
    other = replace(
        round_,
        draft_token_ids=torch.where(beyond, 0, round_.draft_token_ids),
        target_probs=torch.where(beyond.unsqueeze(1), NAN, round_.target_probs),
        draft_probs=torch.where(beyond.unsqueeze(1), NAN, round_.draft_probs),
    )
    assert torch.equal(decide(rule, other, draws).token_ids, verdict.token_ids)


@some
@given(case=rounds)
def test_block_never_cuts_before_the_end_of_a_prefix_of_weight_one(case):
    """Every draft that is at least as likely under the target as under q keeps the weight at one."""
    round_, draws = case
    q = torch.where(round_.point_mass.unsqueeze(1), one_hot(round_.draft_token_ids, round_.target_probs.shape[1]), 0)
    q = torch.where(round_.point_mass.unsqueeze(1), q, round_.draft_probs)
    x = round_.draft_token_ids.clamp_min(0).unsqueeze(1)
    safe = (round_.target_probs.gather(1, x) >= q.gather(1, x)) & (q.gather(1, x) > 0)
    safe = safe.squeeze(1) & (round_.draft_token_ids >= 0)
    draws = replace(draws, accept=torch.full_like(draws.accept, ALMOST_ONE))
    for start, drafts, kept, _ in requests(round_, decide("block", round_, draws)):
        assert kept >= int(safe[start : start + len(drafts)].long().cumprod(0).sum())


@every_rule
@some
@given(case=rounds, seed=seeds)
def test_permuting_the_requests_permutes_the_verdicts(rule, case, seed):
    round_, draws = case
    order = torch.randperm(len(round_.num_drafts), generator=torch.Generator().manual_seed(seed))
    pieces = [of_request(round_, draws, row) for row in order.tolist()]
    together = Round(
        cu_num_draft_tokens=round_.num_drafts[order].cumsum(0),
        **{
            name: torch.cat([getattr(piece, name) for piece, _ in pieces])
            for name in ("draft_token_ids", "target_probs", "draft_probs", "point_mass", "bonus_token_ids")
        },
    )
    permuted = Draws(*(torch.cat([getattr(d, name) for _, d in pieces]) for name in ("accept", "repair", "own")))
    verdict, other = decide(rule, round_, draws), decide(rule, together, permuted)
    assert torch.equal(other.token_ids, verdict.token_ids[order])
    assert torch.equal(other.num_accepted, verdict.num_accepted[order])


@every_rule
@some
@given(case=rounds)
def test_a_verdict_does_not_depend_on_the_requests_neighbours(rule, case):
    round_, draws = case
    verdict = decide(rule, round_, draws)
    for row, count in enumerate(round_.num_drafts.tolist()):
        alone = decide(rule, *of_request(round_, draws, row))
        assert torch.equal(alone.token_ids[0], verdict.token_ids[row, : count + 1])
        assert alone.num_accepted[0] == verdict.num_accepted[row]


def arguments_of(round_):
    names = (
        "draft_token_ids",
        "cu_num_draft_tokens",
        "target_probs",
        "draft_probs",
        "point_mass",
        "bonus_token_ids",
    )
    return {name: getattr(round_, name) for name in names}


@every_rule
@some
@given(case=rounds, dtype=st.sampled_from([torch.float32, torch.float64]))
def test_inputs_are_not_changed_in_a_single_bit(rule, case, dtype):
    arguments = {n: t.to(dtype) if t.is_floating_point() else t for n, t in arguments_of(case[0]).items()}
    before = {name: tensor.numpy().tobytes() for name, tensor in arguments.items()}
    verify(rule, **arguments, generator=torch.Generator().manual_seed(0))
    assert {name: tensor.numpy().tobytes() for name, tensor in arguments.items()} == before


MARGIN = 1e-4


def nudged(rule, round_, draws, by):
    """The verdict with every threshold that the rule draws against, or was given, moved a little."""
    accept, repair = ((u + by).clamp(0, ALMOST_ONE) for u in (draws.accept, draws.repair))
    options = {name: value * (1 + by) for name, value in RULES[rule].options.items()}
    return decide(rule, round_, Draws(accept, repair, draws.own), **options).token_ids


@every_rule
@settings(max_examples=15)
@given(counts=st.lists(st.integers(0, 6), min_size=20, max_size=20), vocab=vocabs, seed=seeds)
def test_float32_decides_as_float64_but_within_rounding_of_a_threshold(rule, counts, vocab, seed):
    round_, draws = round_of(counts, vocab, seed)
    single = replace(round_, target_probs=round_.target_probs.float(), draft_probs=round_.draft_probs.float())
    double = replace(round_, target_probs=single.target_probs.double(), draft_probs=single.draft_probs.double())
    stays = (nudged(rule, double, draws, MARGIN) == nudged(rule, double, draws, -MARGIN)).all(1)
    same = (decide(rule, single, draws).token_ids == decide(rule, double, draws).token_ids).all(1)
    assert same[stays].all()
    assert stays.double().mean() > 0.7


@pytest.mark.parametrize("vocab", [151_936, 200_000])
@every_rule
def test_wide_vocabularies(rule, vocab):
    """Support, boundary, and the same verdict when the last token stands in for the first."""
    round_, draws = round_of([3, 0, 1, 5], vocab, vocab)
    verdict = decide(rule, round_, draws)
    check_first_rejection(round_, verdict)
    check_support(round_, verdict)
    last = torch.full_like(round_.draft_token_ids, vocab - 1)
    sure = one_hot(last, vocab).float()
    sure = replace(round_, draft_token_ids=last, target_probs=sure, draft_probs=sure, point_mass=None)
    assert torch.equal(decide(rule, sure, draws).num_accepted, sure.num_drafts)
    with_first = decide(rule, replace(sure, draft_token_ids=torch.zeros_like(last), draft_probs=None), draws)
    assert with_first.token_ids[[0, 2, 3], 0].tolist() == [vocab - 1] * 3


@every_rule
@some
@given(case=rounds)
def test_minus_one_is_rejected_its_q_unread_and_the_token_drawn_from_the_target(rule, case):
    round_, draws = case
    own = {"greedy": lambda p: p.argmax(-1), "gumbel": lambda p: race(p, draws.own)}.get(
        rule, lambda p: draw(p, draws.repair)
    )(round_.target_probs)
    for start, drafts, kept, tokens in requests(round_, decide(rule, *case)):
        assert -1 not in drafts[:kept]
        if kept < len(drafts) and drafts[kept] == -1:
            assert tokens[kept] == own[start + kept]


@every_rule
@some
@given(counts=counts.filter(any), vocab=vocabs, seed=seeds)
def test_nan_is_refused_with_argument_and_row_where_it_would_be_read(rule, counts, vocab, seed):
    round_, _ = round_of(counts, vocab, seed)
    arguments = arguments_of(round_)
    verify(rule, **arguments)
    row = seed % sum(counts)
    target = round_.target_probs.clone()
    target[row, seed % vocab] = NAN
    with pytest.raises(ValueError, match=f"target_probs: row {row} holds NaN"):
        verify(rule, **arguments | {"target_probs": target})
    read = (~round_.draft_probs.isnan().any(-1)).nonzero().squeeze(1).tolist()
    if read:
        row = read[seed % len(read)]
        draft = round_.draft_probs.clone()
        draft[row, seed % vocab] = NAN
        with pytest.raises(ValueError, match=f"draft_probs: row {row} holds NaN"):
            verify(rule, **arguments | {"draft_probs": draft})


@every_rule
@some
@given(case=rounds)
def test_point_masses_may_be_given_as_no_q_as_rows_or_as_one_hot_q(rule, case):
    round_, draws = case
    nothing = replace(round_, draft_probs=None, point_mass=None)
    rows = replace(round_, point_mass=torch.ones_like(round_.point_mass))
    soft = replace(round_, draft_probs=one_hot(round_.draft_token_ids, round_.target_probs.shape[1]), point_mass=None)
    verdicts = [decide(rule, r, draws) for r in (nothing, rows, soft)]
    for verdict in verdicts[1:]:
        assert torch.equal(verdict.token_ids, verdicts[0].token_ids)
        assert torch.equal(verdict.num_accepted, verdicts[0].num_accepted)
