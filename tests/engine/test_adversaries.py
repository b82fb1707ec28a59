"""Adversaries can be named in the settings, as a user's drafter is."""

import numpy as np
import pytest

from tests.engine.adversaries import Oracle, inside, wrong_at
from verispec.drafting import DraftRequest, make_drafter


def request(*token_ids, max_tokens=4):
    return DraftRequest("r", np.array(token_ids, dtype=np.int32), max_tokens)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("Constant", {"token": 5, "longer": 9}),
        ("Random", {"vocab_size": 16}),
        ("TooFewRows", {}),
        ("TooManyRows", {}),
        ("NoProposals", {}),
        ("Slow", {}),
    ],
)
def test_by_import_path(name, options):
    drafter = make_drafter(f"tests.engine.adversaries.{name}", options)
    drafter.propose([request(1, 2, 1, 2, 1)])
    drafter.forget({"r"})


def test_one_that_raises():
    drafter = make_drafter("tests.engine.adversaries.Raising", {})
    assert [len(drafter.propose([request(1, 2, 1, 2, 1)])) for _ in range(2)] == [1, 1]
    with pytest.raises(RuntimeError, match="out of order"):
        drafter.propose([request(1, 2, 1, 2, 1)])


def test_an_oracle_drafts_what_the_target_will_say():
    known = {(1, 2): [1, 2, 5, 6, 7, 8, 9]}
    assert Oracle(known).draft(request(1, 2, 5)) == [6, 7, 8, 9]
    assert Oracle(known).draft(request(1, 2, 5, max_tokens=2)) == [6, 7]
    assert Oracle(known).draft(request(1, 2, 4)) == []
    assert Oracle(known, wrong_at(1, vocab_size=10)).draft(request(1, 2, 5)) == [6, 8, 8, 9]
    assert Oracle(known, inside(1, 0, 3)).draft(request(1, 2, 5)) == [6, 0, 3, 7]
