"""Traces of both forms, and faults that name file and line."""

import pytest

from verispec_bench.arrival import TraceLine, read_trace
from verispec_bench.errors import UnusableInput

MOONCAKE = """\
{"timestamp": 27000, "input_length": 6755, "output_length": 500, "hash_ids": [0, 1]}

{"timestamp": 30500, "input_length": 7, "output_length": 9}
{"timestamp": 28000, "input_length": 100, "output_length": 1}
"""
AZURE = """\
TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:04.4799600,3180,8
2023-11-16 18:18:03.9799600,110,27
"""


def write(tmp_path, text, name):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_mooncake_s_form_in_order_from_zero(tmp_path):
    assert read_trace(write(tmp_path, MOONCAKE, "t.jsonl")) == [
        TraceLine(0.0, 6755, 500),
        TraceLine(1.0, 100, 1),
        TraceLine(3.5, 7, 9),
    ]


def test_azure_s_form_with_dates(tmp_path):
    lines = read_trace(write(tmp_path, AZURE, "t.csv"))
    assert [line.at_s for line in lines] == pytest.approx([0.0, 0.5, 60.0])
    assert [(line.input_len, line.output_len) for line in lines] == [(4808, 10), (3180, 8), (110, 27)]


def test_azure_s_later_form_has_time_zones_and_windows_line_ends(tmp_path):
    text = AZURE.replace("9799600,", "979960+00:00,").replace("\n", "\r\n")
    assert read_trace(write(tmp_path, "\ufeff" + text, "t.CSV"))[1].at_s == pytest.approx(0.5)


def test_speed_shortens_the_time_and_nothing_else(tmp_path):
    lines = read_trace(write(tmp_path, MOONCAKE, "t.jsonl"), speed=2)
    assert [line.at_s for line in lines] == [0.0, 0.5, 1.75]
    assert lines[0].output_len == 500


def mooncake(**changes):
    import json

    return json.dumps({"timestamp": 1, "input_length": 1, "output_length": 1} | changes)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.txt", "", r"t.txt: a trace is a .jsonl file"),
        ("t.jsonl", "\n", "t.jsonl: holds no requests"),
        ("t.jsonl", mooncake() + "\n{x", "t.jsonl:2: "),
        ("t.jsonl", "5", "t.jsonl:1: not an object"),
        ("t.jsonl", '{"timestamp": 1}', "t.jsonl:1: has no 'input_length'"),
        ("t.jsonl", mooncake(timestamp="now"), "t.jsonl:1: timestamp 'now' is not a number"),
        ("t.jsonl", mooncake(timestamp=float("nan")), "t.jsonl:1: the time is not finite"),
        ("t.jsonl", mooncake(output_length=1.5), "t.jsonl:1: length 1.5 is not a whole number"),
        ("t.jsonl", mooncake(output_length=0), "t.jsonl:1: lengths of 1 and 0 tokens: both are at least 1"),
        ("t.csv", AZURE.splitlines()[0], "t.csv: holds no requests"),
        ("t.csv", "a,b,c\n1,2,3", "t.csv:2: has no 'TIMESTAMP'"),
        ("t.csv", AZURE + "yesterday,1,2\n", "t.csv:5: Invalid isoformat string: 'yesterday'"),
        ("t.csv", AZURE + "2023-11-16 18:17:03,1\n", "t.csv:5: length None is not a whole number"),
        ("t.csv", AZURE + "2023-11-16 18:17:03,1,x\n", "t.csv:5: invalid literal"),
    ],
)
def test_faults_name_file_and_line(tmp_path, name, text, message):
    with pytest.raises(UnusableInput, match=message):
        read_trace(write(tmp_path, text, name))


def test_a_missing_file_and_a_speed_that_is_none_are_refused(tmp_path):
    with pytest.raises(UnusableInput, match=r"no\.csv: the trace cannot be read"):
        read_trace(tmp_path / "no.csv")
    with pytest.raises(UnusableInput, match="speed 0: is not a factor above 0"):
        read_trace(write(tmp_path, MOONCAKE, "t.jsonl"), speed=0)
