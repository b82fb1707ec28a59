"""The verb prints a table for each file, and JSON for programs."""

import json

from tests.harness.speedmodel.replay.test_study import trace
from tests.harness.sweep.test_sweep import verispec


def written(path, *seeds):
    lines = []
    for each in map(trace, seeds):
        text = each.text.tolist()
        line = {"id": each.id, "prompt_token_ids": text[:2], "generated_token_ids": text[2:]}
        lines.append(line | {f"{name}_step_length": lengths.tolist() for name, lengths in each.step_lengths.items()})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_the_table_has_a_row_for_each_policy(tmp_path):
    result = verispec("replay", written(tmp_path / "one.jsonl", 0, 1, 2), "--batch", "1", "--batch", "4")
    assert result.returncode == 0, result.stderr
    for said in ("one: speedup over target-only", "longest, its own bill (oracle)", "by match length ", "4 mixed"):
        assert said in result.stdout


def test_json_holds_the_bill_and_the_results(tmp_path):
    files = [written(tmp_path / "one.jsonl", 0, 1), written(tmp_path / "two.jsonl", 2, 3)]
    found = json.loads(verispec("replay", *files, "--batch", "1", "--json").stdout)
    assert found["bill"]["drafters"].keys() == {"ngram", "eagle"}
    assert {result["traces"] for result in found["results"]} == {"one", "two"}


def test_files_of_one_name_are_refused(tmp_path):
    (tmp_path / "a").mkdir()
    files = [written(tmp_path / "one.jsonl", 0), written(tmp_path / "a" / "one.jsonl.gz", 1)]
    result = verispec("replay", *files)
    assert (result.returncode, "same name" in result.stderr) == (2, True)
