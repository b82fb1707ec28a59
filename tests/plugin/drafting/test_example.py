"""The example of a drafter of one's own works as its text says, by its class path."""

from pathlib import Path

import numpy as np
import pytest

from verispec.drafting import DraftRequest, make_drafter

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture
def drafter(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    return make_drafter("bigram_drafter.BigramDrafter", {})


def ask(drafter, tokens, max_tokens=3):
    (proposal,) = drafter.propose([DraftRequest("a", np.array(tokens, np.int32), max_tokens)])
    return proposal


def test_it_drafts_the_most_frequent_follower(drafter):
    proposal = ask(drafter, [1, 2, 3, 1, 2, 4, 1, 2, 3, 1])
    assert proposal.token_ids == [2, 3, 1]
    assert proposal.acceptance == [3 / 4, 2 / 4, 2 / 3]


def test_it_goes_on_where_it_was(drafter):
    ask(drafter, [1, 2])
    assert ask(drafter, [1, 2, 5, 1, 2]).token_ids == [5, 1, 2]
    assert drafter._followers["a"][1].total() == 2


def test_it_forgets(drafter):
    ask(drafter, [1, 2, 1])
    drafter.forget({"a", "never seen"})
    assert ask(drafter, [1]).token_ids == []


def test_it_is_as_short_as_is_promised():
    code = (EXAMPLES / "bigram_drafter.py").read_text().split('"""', 2)[2]
    assert len([line for line in code.splitlines() if line.strip()]) <= 32
