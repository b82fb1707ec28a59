"""q follows request ids, never batch rows; what cannot be matched counts as a point mass."""

import torch

from verispec.engine.counters import Counters
from verispec.engine.q_channel import DraftLaw, QChannel


def channel_with(**laws) -> tuple[QChannel, Counters]:
    counters = Counters()
    channel = QChannel(counters)
    for request_id, law in laws.items():
        channel.send(request_id, law)
    return channel, counters


def law(token_ids, fill) -> DraftLaw:
    return DraftLaw(token_ids, torch.full((len(token_ids), 4), fill))


def receive(channel, rows):
    """rows: (request id, scheduled drafts)."""
    drafts = torch.tensor([t for _, tokens in rows for t in tokens])
    return channel.receive([r for r, _ in rows], [len(tokens) for _, tokens in rows], drafts, vocab_size=4)


def test_rows_follow_request_ids_through_reordering_and_departures():
    channel, counters = channel_with(a=law([1], 0.1), b=law([2, 3], 0.2), c=law([0], 0.3))
    probs, point_mass = receive(channel, [("b", [2, 3]), ("a", [1])])
    assert torch.equal(probs, torch.tensor([[0.2] * 4, [0.2] * 4, [0.1] * 4]))
    assert point_mass.tolist() == [False] * 3
    assert counters.rows_with_draft_probs == 3


def test_a_draft_cut_short_by_the_scheduler_keeps_its_first_rows():
    channel, _ = channel_with(a=DraftLaw([1, 2, 3], torch.arange(12.0).view(3, 4)))
    probs, _ = receive(channel, [("a", [1, 2])])
    assert torch.equal(probs, torch.arange(8.0).view(2, 4))


def test_requests_without_a_law_are_point_masses():
    channel, counters = channel_with(a=law([1], 0.1))
    probs, point_mass = receive(channel, [("n", [0, 0]), ("a", [1])])
    assert point_mass.tolist() == [True, True, False]
    assert torch.equal(probs[2], torch.full((4,), 0.1))
    assert counters.rows_without_draft_probs == 0


def test_other_tokens_than_the_law_was_sent_for_fall_back_to_point_masses_and_are_counted():
    channel, counters = channel_with(a=law([1, 2], 0.1))
    assert receive(channel, [("a", [1, 3])]) == (None, None)
    assert counters.rows_without_draft_probs == 2


def test_a_request_that_was_not_scheduled_keeps_its_law():
    channel, _ = channel_with(a=law([1], 0.1), b=law([2], 0.2))
    receive(channel, [("b", [2])])
    probs, _ = receive(channel, [("a", [1])])
    assert torch.equal(probs, torch.full((1, 4), 0.1))


def test_a_later_point_mass_draft_replaces_the_law():
    channel, _ = channel_with(a=law([1], 0.1))
    channel.send("a", None)
    assert receive(channel, [("a", [1])]) == (None, None)


def test_ended_requests_are_forgotten():
    channel, _ = channel_with(a=law([1], 0.1))
    channel.forget(["a", "b"])
    assert receive(channel, [("a", [1])]) == (None, None)


def test_no_dense_rows_where_nobody_sent_a_law():
    channel, _ = channel_with()
    assert receive(channel, [("a", [1, 2])]) == (None, None)
