"""A choice by match length wins where matches tell who is right, learns nothing of what it is judged by, is priced."""

import numpy as np
import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.speedmodel.replay import ALL_BILLS, BY_MATCH, OWN_BILL, PUBLISHED, Trace, gap_recovered, replay
from verispec_bench.speedmodel.replay.match import match_lengths
from verispec_bench.speedmodel.replay.selector import Selector


def trace(seed, copier="ngram", other="eagle"):
    """New text, then a copy of it, in turns; `copier` keeps 8 drafts in the copies, `other` keeps 3 anywhere."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(6):
        new = rng.integers(0, 50_000, 20).tolist()
        parts += [new, new]
    text = np.array([1, 2, *(token for part in parts for token in part)], dtype=np.int32)
    copied = np.tile(np.repeat([False, True], 20), 6)
    copied[::20] = False  # nobody knows when a copy begins
    lengths = {copier: np.where(copied, 9, 1), other: np.full(len(copied), 4)}
    return Trace(str(seed), 2, len(copied), text, lengths)


def test_a_choice_by_match_length_beats_every_single_drafter():
    results = replay({"one": [trace(seed) for seed in range(10)]}, PUBLISHED, [1])
    speedups = {result.policy: result.speedup for result in results}
    assert speedups[BY_MATCH] > 1.15 * max(speedups["ngram, fixed window"], speedups["eagle, fixed window"])
    assert gap_recovered(results) > 0.9
    assert {result.policy for result in results if not result.looks_ahead} == {
        BY_MATCH, "ngram, fixed window", "eagle, fixed window",
    }  # fmt: skip


def test_oracles_are_ordered_by_what_they_pay():
    speedups = {r.policy: r.speedup for r in replay({"one": [trace(0), trace(1)]}, PUBLISHED, [1])}
    assert speedups["longest, ngram's bill"] > speedups[OWN_BILL] > speedups[ALL_BILLS] > speedups["eagle"]


def test_what_is_judged_is_not_learned_from():
    """Elsewhere the copier is the other one: what was learned there is wrong here, and loses."""
    here, there = [trace(s) for s in range(4)], [trace(s, "eagle", "ngram") for s in range(4)]
    alone = {r.policy: r.speedup for r in replay({"here": here}, PUBLISHED, [1])}
    misled = {r.policy: r.speedup for r in replay({"here": here, "there": there}, PUBLISHED, [1]) if r.traces == "here"}
    assert misled[BY_MATCH] < 0.7 * alone[BY_MATCH]


def test_a_selector_verifies_its_window_and_keeps_no_more():
    known = [(each, match_lengths(each)) for each in map(trace, range(4))]
    selector = Selector.learned(known, ["ngram", "eagle"], PUBLISHED, 1)
    plan = selector.plan(*known[0])
    assert (plan.committed <= plan.verified).all()
    assert (plan.committed <= np.maximum(*known[0][0].step_lengths.values())).all()
    assert ((plan.billed["ngram"] ^ plan.billed["eagle"]) == (plan.verified > 1)).all()


def test_where_drafts_do_not_pay_nothing_is_drafted_and_nobody_is_billed():
    """At batch 512 a pass costs what its tokens cost, and outside the copies next to nothing is right."""
    hopeless = [trace(seed) for seed in range(4)]
    for each in hopeless:
        each.step_lengths["eagle"][:] = 1
    known = [(each, match_lengths(each)) for each in hopeless]
    plan = Selector.learned(known, ["ngram", "eagle"], PUBLISHED, 512).plan(*known[0])
    alone = plan.verified == 1
    assert 0.4 < alone.mean() < 0.7
    assert not (plan.billed["ngram"] | plan.billed["eagle"])[alone].any()


def test_mixed_batches_are_served_too():
    results = replay({"one": [trace(seed) for seed in range(5)]}, PUBLISHED, [1, 4])
    assert {(result.batch, result.batches) for result in results} == {(1, "identical"), (4, "identical"), (4, "mixed")}


def test_traces_without_texts_have_no_choice_by_match():
    bare = [Trace(str(n), 2, 3, None, {"ngram": np.array([1, 2, 1]), "eagle": np.array([2, 2, 1])}) for n in range(3)]
    results = replay({"bare": bare}, PUBLISHED, [1])
    assert BY_MATCH not in {result.policy for result in results}
    assert gap_recovered(results) is None


def test_a_drafter_without_a_price_is_refused():
    odd = [Trace("1", 2, 1, None, {"medusa": np.array([1])})]
    with pytest.raises(UnusableInput, match="no price for drafter medusa: the bill knows ngram, eagle"):
        replay({"odd": odd}, PUBLISHED, [1])


def test_files_of_other_drafters_are_not_mixed():
    with pytest.raises(UnusableInput, match="a and b have different drafters"):
        replay({"a": [trace(0)], "b": [trace(0, "ngram", "medusa")]}, PUBLISHED, [1])


def test_of_a_single_trace_nothing_is_learned_and_no_share_is_named():
    assert gap_recovered(replay({"one": [trace(1)]}, PUBLISHED, [1])) is None
