"""Pairs of neighbouring tokens, binned by their rank in the pilot."""

import numpy as np

from verispec_bench.exactness.bins import bin_shares, choose_bins


def test_bins_are_the_most_frequent_pairs_of_the_pilot_ties_in_the_order_of_ids():
    pilot = [[1, 2, 1, 2], [1, 2, 3, 3], [4, 5, 6, 7]]
    assert choose_bins(pilot) == [(1, 2), (2, 1), (2, 3)]


def test_shares_count_each_completions_pairs_and_what_is_left_is_the_last_bin():
    shares = bin_shares([[1, 2, 1, 2, 9], [9, 9, 9, 9, 9]], [(1, 2), (2, 1)])
    np.testing.assert_allclose(shares, [[0.5, 0.25, 0, 0.25], [0, 0, 0, 1]])
