"""The plan of the law test in chunks."""

from verispec_bench.exactness.chunks import plan_chunks
from verispec_bench.exactness.completions import Completion
from verispec_bench.scenario import Exactness, SamplingParameters


def test_arms_take_turns_and_the_baseline_makes_twice_as_many():
    exactness = Exactness(prompts=["a"], completions=300, concurrency=64)
    chunks = plan_chunks(exactness, ["x", "y"])
    assert [(c.part, c.arm, c.index, c.completions) for c in chunks] == [
        ("pilot", "target-only", 0, 256),
        *[("test", arm, index, 128) for arm, index in (("target-only", 0), ("x", 0), ("y", 0), ("target-only", 1))],
        *[("test", arm, index, 128) for arm, index in (("target-only", 2), ("y", 1), ("x", 1), ("target-only", 3))],
        *[("test", arm, index, 44) for arm, index in (("target-only", 4), ("x", 2), ("y", 2), ("target-only", 5))],
    ]
    assert len({chunk.id for chunk in chunks}) == len(chunks)


def test_every_sampling_has_a_pilot_and_its_own_chunks():
    samplings = [SamplingParameters(), SamplingParameters(top_k=40)]
    chunks = plan_chunks(Exactness(prompts=["a"], completions=100, sampling=samplings), ["x"])
    assert [c.sampling for c in chunks if c.part == "pilot"] == [0, 1]
    assert [c.sampling for c in chunks if c.arm == "x"] == [0, 1]


def test_drafted_positions_are_those_of_rounds_with_a_draft_cut_at_the_end():
    """Three rounds that kept 1 + 0 + 2 drafts decided 6 tokens; a completion of 5 has 4 after its first."""
    assert Completion(0, [0] * 9, 3, 6, 3).drafted_positions == 6
    assert Completion(0, [0] * 5, 3, 6, 3).drafted_positions == 4
    assert Completion(0, [0] * 5).drafted_positions == 0
