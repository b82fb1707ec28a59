"""Greedy parity compares token ids and shows the first difference."""

from verispec_bench.client.record import RequestRecord
from verispec_bench.exactness import greedy_parity


def answer(ids, error=None) -> RequestRecord:
    return RequestRecord("p1", 0.0, token_ids=ids, text=str(ids), error=error)


def test_equal_ids_are_identical():
    assert greedy_parity([(answer([1, 2]), answer([1, 2]))]).identical is True


def test_the_first_difference_is_shown_with_both_answers():
    parity = greedy_parity([(answer([1, 2, 3]), answer([1, 9, 3])), (answer([1]), answer([1]))])
    assert (parity.identical, parity.compared) == (False, 2)
    (divergence,) = parity.divergences
    assert (divergence.position, divergence.baseline, divergence.arm) == (1, "[1, 2, 3]", "[1, 9, 3]")


def test_a_longer_answer_differs_where_the_shorter_ends():
    assert greedy_parity([(answer([1]), answer([1, 2]))]).divergences[0].position == 1


def test_failures_and_servers_without_ids_are_not_compared():
    pairs = [(answer([1], error="reset: x"), answer([2])), (answer(None), answer([1]))]
    assert greedy_parity(pairs).identical is None
