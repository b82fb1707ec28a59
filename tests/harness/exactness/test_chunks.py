"""The plan in chunks, and the file in which finished ones survive a kill."""

import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.exactness.chunks import Chunk, ChunkFile, plan_chunks
from verispec_bench.exactness.completions import Completion
from verispec_bench.scenario import Exactness, SamplingParameters

CHUNK, OTHER = Chunk("test", 0, "x", 0, 2), Chunk("test", 0, "x", 1, 1)
MADE = [Completion(0, [1, 2]), Completion(1, [3, 4], rounds=1, draft_tokens=2, accepted_tokens=1)]


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


def test_finished_chunks_are_read_back_whole(tmp_path):
    ChunkFile(tmp_path / "c.jsonl").add(CHUNK, MADE)
    again = ChunkFile(tmp_path / "c.jsonl")
    assert again.get(CHUNK) == MADE
    assert not again.has(OTHER)


def test_the_line_that_a_kill_cut_in_two_is_dropped_and_made_again(tmp_path):
    path = tmp_path / "c.jsonl"
    ChunkFile(path).add(CHUNK, MADE)
    with path.open("a") as file:
        file.write('{"chunk": "test/s0/x/1", "comple')
    again = ChunkFile(path)
    assert len(again) == 1
    again.add(OTHER, MADE[:1])
    assert ChunkFile(path).get(OTHER) == MADE[:1]


def test_a_line_damaged_in_the_middle_is_refused_with_its_number(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"chunk": 1}\n{}\n')
    with pytest.raises(UnusableInput, match=r"c\.jsonl:1: damaged"):
        ChunkFile(path)


def test_drafted_positions_are_those_of_rounds_with_a_draft_cut_at_the_end():
    """Three rounds that kept 1 + 0 + 2 drafts decided 6 tokens; a completion of 5 has 4 after its first."""
    assert Completion(0, [0] * 9, 3, 6, 3).drafted_positions == 6
    assert Completion(0, [0] * 5, 3, 6, 3).drafted_positions == 4
    assert Completion(0, [0] * 5).drafted_positions == 0
