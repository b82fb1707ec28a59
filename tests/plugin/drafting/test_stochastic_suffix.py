"""What is drawn is drawn from the law that is sent with it, and its length and chance do not depend on the draw."""

from collections import Counter

import numpy as np
import pytest

from verispec.drafting import DrafterError, DraftRequest
from verispec.drafting.continuation import continue_history
from verispec.drafting.stochastic_suffix import StochasticSuffixDrafter
from verispec.drafting.suffix import SuffixDrafter

TORN = [1, 2, 5, 1, 2, 5, 1, 2, 6, 9, 1, 2]
"""After (1, 2) came 5 twice and 6 once."""


def request(tokens=TORN, temperature=0.8, seed=None, max_tokens=4):
    return DraftRequest("a", np.array(tokens, np.int32), max_tokens, temperature, seed)


def law_of(proposal, position):
    row = zip(proposal.probs.choices[position].tolist(), proposal.probs.probs[position].tolist(), strict=True)
    return {token: chance for token, chance in row if token >= 0}


def test_tokens_come_as_often_as_the_law_says():
    drafter = StochasticSuffixDrafter()
    proposals = [drafter.propose([request()])[0] for _ in range(4000)]
    law = law_of(proposals[0], 0)
    assert law.keys() == {5, 6}
    assert sum(law.values()) == pytest.approx(1)
    drawn = Counter(proposal.token_ids[0] for proposal in proposals)
    assert drawn[5] / 4000 == pytest.approx(law[5], abs=4 * (law[5] * law[6] / 4000) ** 0.5)
    for first in (5, 6):
        after = [proposal for proposal in proposals if proposal.token_ids[0] == first]
        for token, chance in law_of(after[0], 1).items():
            share = np.mean([proposal.token_ids[1] == token for proposal in after])
            assert share == pytest.approx(chance, abs=4 * (chance * (1 - chance) / len(after)) ** 0.5 + 1e-9)


def test_chances_are_those_of_the_history_whatever_was_drawn():
    drafter = StochasticSuffixDrafter()
    chances = {tuple(drafter.propose([request()])[0].acceptance) for _ in range(50)}
    assert chances == {tuple(SuffixDrafter().propose([request()])[0].acceptance)}


@pytest.mark.parametrize("asked", [request(temperature=0.0), request(seed=7)])
def test_greedy_and_seeded_requests_get_the_most_voted_tokens(asked):
    drafter = StochasticSuffixDrafter()
    for _ in range(20):
        (proposal,) = drafter.propose([asked])
        assert proposal.probs is None
        assert proposal.token_ids == SuffixDrafter().propose([asked])[0].token_ids


def test_a_sharper_law_favours_the_most_voted():
    blunt, sharp = (law_of(StochasticSuffixDrafter(sharpness=s).propose([request()])[0], 0) for s in (1.0, 4.0))
    assert sharp[5] > blunt[5] > 0.5


def test_without_a_match_nothing_is_drawn():
    (proposal,) = StochasticSuffixDrafter().propose([request([1, 2, 3])])
    assert proposal.token_ids == []
    assert proposal.probs is None


@pytest.mark.parametrize("sharpness", [2, 2000, float("inf")])
def test_a_very_sharp_law_is_a_law_of_the_most_voted(sharpness):
    (proposal,) = StochasticSuffixDrafter(sharpness=sharpness).propose([request()])
    assert proposal.probs.probs.sum(dim=1).tolist() == pytest.approx([1.0] * len(proposal.token_ids))
    assert law_of(proposal, 0)[5] > 0.5


def test_a_whole_number_of_sharpness_compiles_nothing_anew():
    StochasticSuffixDrafter().propose([request()])
    compiled = len(continue_history.signatures)
    StochasticSuffixDrafter(sharpness=2).propose([request()])
    assert len(continue_history.signatures) == compiled


@pytest.mark.parametrize("sharpness", [0, -1, float("nan"), "2"])
def test_nonsense_is_refused(sharpness):
    with pytest.raises(DrafterError, match="sharpness"):
        StochasticSuffixDrafter(sharpness=sharpness)
