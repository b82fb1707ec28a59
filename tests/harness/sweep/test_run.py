"""What is sent for a block of prompts is the same for every arm, as long as asked for, and due as stated."""

import pytest

from verispec_bench.client import Target
from verispec_bench.scenario import Scenario
from verispec_bench.scenario.cells import cells_of
from verispec_bench.scenario.load import Load
from verispec_bench.sweep.run import requests_of
from verispec_bench.workload import Prompt

PROMPTS = [Prompt(f"p{i}", f"text {i}") for i in range(32)]


def lengths(spread, prompts=PROMPTS, seed="cell 0 0", output_len=64):
    scenario = Scenario.model_validate(
        {
            "name": "s",
            "model": "owner/model",
            "arms": {"x": {"speculative": {"method": "ngram", "num_speculative_tokens": 3}}},
            "workloads": ["chat"],
            "load": {"concurrency": [4], "output_len": [output_len], "output_spread": spread},
        }
    )
    requests = requests_of(scenario, cells_of(scenario)[0], prompts, seed)
    return [request.call(Target("http://127.0.0.1:1", "m")).max_tokens for request in requests]


def test_answers_ask_for_the_same_length_unless_a_spread_is_stated():
    assert set(lengths(0)) == {64}


def test_a_spread_keeps_the_mean_and_its_bounds():
    asked = lengths(0.5)
    assert sum(asked) == 64 * len(PROMPTS)
    assert min(asked) == 33
    assert max(asked) == 95
    assert len(set(asked)) == len(PROMPTS)


def test_lengths_are_in_no_order_and_come_again_with_their_block():
    assert lengths(0.5) != sorted(lengths(0.5))
    assert lengths(0.5) == lengths(0.5)
    assert lengths(0.5) != lengths(0.5, seed="cell 1 0")


def test_every_answer_asks_for_a_token():
    assert min(lengths(0.99, output_len=1)) == 1


def test_a_prompt_keeps_the_length_of_its_own():
    assert lengths(0.5, [Prompt("p", "text", output_len=7)] * 4) == [7] * 4


def test_prompts_that_are_to_be_compared_between_cells_have_one_length():
    with pytest.raises(ValueError, match="same_prompts"):
        Load(output_spread=0.5, same_prompts=True)


@pytest.mark.parametrize("spread", [-0.1, 1.0, float("nan")])
def test_a_spread_that_is_none_is_refused(spread):
    with pytest.raises(ValueError, match="output_spread"):
        lengths(spread)
