"""The file in which finished chunks survive a kill."""

import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.exactness.chunk_file import ChunkFile
from verispec_bench.exactness.chunks import Chunk
from verispec_bench.exactness.completions import Completion
from verispec_bench.exactness.parity.answer import Answer

CHUNK, OTHER = Chunk("test", 0, "x", 0, 2), Chunk("test", 0, "x", 1, 1)
MADE = [Completion(0, [1, 2]), Completion(1, [3, 4], rounds=1, draft_tokens=2, accepted_tokens=1)]


def test_finished_chunks_are_read_back_whole(tmp_path):
    ChunkFile(tmp_path / "c.jsonl", Completion).add(CHUNK, MADE)
    again = ChunkFile(tmp_path / "c.jsonl", Completion)
    assert again.get(CHUNK) == MADE
    assert not again.has(OTHER)


def test_the_line_that_a_kill_cut_in_two_is_dropped_and_made_again(tmp_path):
    path = tmp_path / "c.jsonl"
    ChunkFile(path, Completion).add(CHUNK, MADE)
    with path.open("a") as file:
        file.write('{"chunk": "test/s0/x/1", "comple')
    again = ChunkFile(path, Completion)
    assert len(again) == 1
    again.add(OTHER, MADE[:1])
    assert ChunkFile(path, Completion).get(OTHER) == MADE[:1]


def test_a_line_damaged_in_the_middle_is_refused_with_its_number(tmp_path):
    path = tmp_path / "c.jsonl"
    path.write_text('{"chunk": 1}\n{}\n')
    with pytest.raises(UnusableInput, match=r"c\.jsonl:1: damaged"):
        ChunkFile(path, Completion)


def test_rows_of_logprobs_survive_the_journey_through_json(tmp_path):
    answer = Answer("code-001", [1], [2], "é", "stop", rows=[[[2, -0.1, "é"], [3, -2.5, " x"]]])
    ChunkFile(tmp_path / "a.jsonl", Answer).add(CHUNK, [answer])
    assert ChunkFile(tmp_path / "a.jsonl", Answer).get(CHUNK) == [answer]


def test_bytes_that_are_no_text_are_damage(tmp_path):
    path = tmp_path / "kept.jsonl"
    path.write_bytes(b'{"chunk": "\xff\xfe"}\n')
    with pytest.raises(UnusableInput, match="damaged; choose another --out"):
        ChunkFile(path, Completion)
