"""The probe makes steps of every size, and every other one without drafts."""

import numpy as np

from verispec.drafting import DraftRequest
from verispec.drafting.probe import SIZES, ProbeDrafter


def drafts_of(requests, rooms, steps):
    drafter = ProbeDrafter()
    asked = [
        DraftRequest(str(i), np.array([5], np.int32), room) for i, room in zip(range(requests), rooms, strict=True)
    ]
    return [[len(proposal.token_ids) for proposal in drafter.propose(asked)] for _ in range(steps)]


def test_steps_of_all_sizes_that_fit_take_turns_with_steps_without():
    sizes = [sum(lengths) for lengths in drafts_of(4, [16] * 4, 4 * len(SIZES))]
    assert sizes[::2] == [0] * (2 * len(SIZES))
    assert set(sizes[1::2]) == {size for size in SIZES if size <= 64}


def test_no_draft_is_longer_than_its_room():
    for lengths in drafts_of(3, [1, 16, 2], 40):
        assert all(length <= room for length, room in zip(lengths, [1, 16, 2], strict=True))


def test_nobody_to_draft_for_is_no_fault():
    assert ProbeDrafter().propose([]) == []
