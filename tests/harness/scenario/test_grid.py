"""An arm with a grid stands for one arm at each point, named after it."""

import pytest

from verispec_bench.scenario.grid import expand

ARM = {"speculative": {"method": "custom_class", "model": "verispec.engine.Proposer", "num_speculative_tokens": 8}}


def test_each_point_of_the_grid_is_an_arm():
    arms = expand({"suffix": ARM | {"grid": {"rule": ["token", "block"], "num_speculative_tokens": [2, 4]}}})
    assert list(arms) == ["suffix-k2-token", "suffix-k2-block", "suffix-k4-token", "suffix-k4-block"]
    assert arms["suffix-k4-block"] == {
        "speculative": ARM["speculative"] | {"num_speculative_tokens": 4},
        "verispec": {"rule": "block"},
    }


def test_a_drafter_of_the_users_own_is_named_after_its_class():
    assert list(expand({"ours": ARM | {"grid": {"drafter": ["suffix", "mine.drafters.Fast"]}}})) == [
        "ours-suffix",
        "ours-fast",
    ]


def test_arms_without_a_grid_stay_as_they_are():
    assert expand({"a": ARM, "b": None}) == {"a": ARM, "b": None}


def test_two_arms_of_one_name_are_refused():
    with pytest.raises(ValueError, match="a-k4: two arms would have this name"):
        expand({"a": ARM | {"grid": {"num_speculative_tokens": [2, 4]}}, "a-k4": ARM})


def test_beside_a_grid_there_are_mappings():
    with pytest.raises(ValueError, match="speculative and verispec are mappings"):
        expand({"a": {"speculative": [1], "grid": {"num_speculative_tokens": [2]}}})


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ([1], "suffix: a grid is a mapping of axes to lists"),
        ({}, "suffix: a grid is a mapping"),
        ({"rule": "token"}, "suffix: a grid is a mapping"),
        ({"k": [1]}, "suffix: the grid has no axis 'k'; it may have num_speculative_tokens, drafter, rule"),
    ],
)
def test_another_grid_is_refused(grid, message):
    with pytest.raises(ValueError, match=message):
        expand({"suffix": ARM | {"grid": grid}})
