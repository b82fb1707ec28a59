"""Trace files are read as documented, and refused in one line that says where they are wrong."""

import gzip
import json

import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.speedmodel.replay import read_traces

LINE = {"id": "7", "prompt_token_ids": [5, 6], "generated_token_ids": [1, 2, 3], "ngram_step_length": [3, 2]}


def written(path, *lines, zipped=False):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    return path


@pytest.mark.parametrize("zipped", [False, True])
def test_a_trace_is_read_whether_zipped_or_not(tmp_path, zipped):
    [trace] = read_traces(written(tmp_path / "a.jsonl", LINE, zipped=zipped))
    assert (trace.id, trace.prompt_tokens, trace.tokens) == ("7", 2, 3)
    assert trace.text.tolist() == [5, 6, 1, 2, 3]
    assert trace.step_lengths["ngram"].tolist() == [3, 2, 1]


def test_lengths_may_stand_in_the_place_of_texts(tmp_path):
    line = {"id": 1, "prompt_tokens": 10, "generated_tokens": 2, "a_step_length": [1, 1, 4]}
    [trace] = read_traces(written(tmp_path / "a.jsonl", line))
    assert (trace.prompt_tokens, trace.tokens, trace.text) == (10, 2, None)
    assert trace.step_lengths["a"].tolist() == [1, 1]


def test_answers_without_a_token_are_left_out(tmp_path):
    empty = LINE | {"generated_token_ids": []}
    assert len(read_traces(written(tmp_path / "a.jsonl", empty, LINE, empty))) == 1
    with pytest.raises(UnusableInput, match="holds no acceptance trace"):
        read_traces(written(tmp_path / "b.jsonl", empty))


def test_the_first_traces_are_taken(tmp_path):
    assert len(read_traces(written(tmp_path / "a.jsonl", LINE, LINE, LINE), limit=2)) == 2


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"id": "1", "prompt_tokens": 1, "generated_tokens": 1}, "no list"),
        (LINE | {"ngram_step_length": [0, 1]}, "a step length below 1"),
        ({key: value for key, value in LINE.items() if key != "id"}, "no 'id'"),
        ({"id": "1", "generated_tokens": 1, "a_step_length": [1]}, "no 'prompt_tokens'"),
        (LINE | {"eagle_step_length": [1]}, "other drafters"),
        ([1, 2], "is no acceptance trace"),
    ],
)
def test_what_is_no_trace_is_refused_with_its_line(tmp_path, broken, said):
    with pytest.raises(UnusableInput, match=rf"a\.jsonl:2: .*{said}"):
        read_traces(written(tmp_path / "a.jsonl", LINE, broken))


def test_files_that_hold_none_are_refused(tmp_path):
    with pytest.raises(UnusableInput, match="holds no acceptance trace"):
        read_traces(written(tmp_path / "a.jsonl"))
    with pytest.raises(UnusableInput, match="cannot be read"):
        read_traces(tmp_path / "missing.jsonl")
    (tmp_path / "cut.gz").write_bytes(gzip.compress(json.dumps(LINE).encode() + b"\n")[:-8])
    with pytest.raises(UnusableInput, match="cannot be read"):
        read_traces(tmp_path / "cut.gz")
