"""Each request has a row of its own for as long as it is known."""

from verispec.control.request_rows import RequestRows


def test_a_request_keeps_its_row_and_shares_it_with_none():
    table, names = RequestRows(2), [f"r{i}" for i in range(100)]
    table.values[table.of(["r0"]), 0] = 3
    rows = table.of(names)
    assert table.values[rows[0], 0] == 3
    assert len(set(rows.tolist())) == 100
    assert (table.of(names) == rows).all()
    table.values[rows, 1] = range(100)
    assert table.values[table.of(["r7", "r99"]), 1].tolist() == [7, 99]


def test_rows_of_ended_requests_are_used_again_from_nothing():
    table = RequestRows(1)
    table.values[table.of(["a", "b"])] = 5
    table.forget(["a", "never seen"])
    assert len(table) == 1
    assert table.values[table.of(["c"])].tolist() == [[0]]
    assert table.values[table.of(["b"])].tolist() == [[5]]


def test_memory_is_that_of_the_most_at_once():
    table = RequestRows(1)
    for i in range(10_000):
        table.of([str(i)])
        table.forget([str(i)])
    assert len(table) == 0
    assert len(table.values) == 16


def test_no_requests_have_no_rows():
    assert RequestRows(1).of([]).shape == (0,)
