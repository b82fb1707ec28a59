"""Prompts are dealt so that no server sees one twice, both arms see the same, and orders alternate."""

from itertools import chain
from pathlib import Path

import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.scenario import Scenario, load_scenario, load_setup
from verispec_bench.sweep import plan_blocks
from verispec_bench.workload import Prompt, load_prompts

AHEAD = {"long-prompts", "open-loop"}  # of the schema
SCENARIOS = [
    path
    for path in sorted((Path(__file__).parents[3] / "scenarios").glob("*.yaml"))
    if path.stem not in AHEAD and load_setup(path).load
]
assert SCENARIOS


def scenario(**changes) -> Scenario:
    arm = {"speculative": {"method": "ngram", "num_speculative_tokens": 3}}
    return Scenario.model_validate(
        {
            "name": "s",
            "model": "owner/model",
            "arms": {"x": arm, "y": arm},
            "workloads": ["chat", "code-edit"],
            "load": {"concurrency": [1, 4], "min_requests": 3, "requests_per_stream": 2},
            "warmup_requests": 2,
        }
        | changes
    )


def prompts(count):
    return {name: [Prompt(f"{name}{i}", f"{name} {i}") for i in range(count)] for name in ("chat", "code-edit")}


def test_no_prompt_stands_twice_anywhere():
    blocks, warmup = plan_blocks(scenario(), prompts(100))
    dealt = [p.text for block in blocks for attempt in block.attempts for p in attempt]
    dealt += [p.text for p in chain.from_iterable(warmup.values())]
    assert len(dealt) == len(set(dealt))


def test_orders_alternate_within_a_cell():
    blocks, _ = plan_blocks(scenario(), prompts(100))
    assert [b.arms for b in blocks[:2]] == [["target-only", "x", "y"], ["y", "x", "target-only"]]


def test_sizes_follow_the_load():
    blocks, _ = plan_blocks(scenario(), prompts(100))
    assert [(b.cell.concurrency, len(b.attempts[0])) for b in blocks if b.index == 0] == [
        (1, 3),
        (1, 3),
        (4, 8),
        (4, 8),
    ]


def test_retries_get_what_is_left():
    """2 warm-up + 2·(3 + 8) first attempts = 24; of 30 prompts 6 are left: two retries of the small cell."""
    blocks, _ = plan_blocks(scenario(), prompts(30))
    assert [len(b.attempts) for b in blocks if b.cell.workload == "chat"] == [2, 2, 1, 1]


def test_too_few_prompts_are_refused_with_the_numbers():
    with pytest.raises(UnusableInput, match="workload chat: the scenario needs 24 distinct prompts, it has 23"):
        plan_blocks(scenario(), prompts(23))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_every_scenario_that_is_swept_has_prompts_enough(path):
    loaded = load_scenario(path)
    plan_blocks(loaded, {str(name): load_prompts(name, loaded.seed) for name in loaded.workloads})
