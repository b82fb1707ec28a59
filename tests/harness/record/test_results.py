"""A result directory survives kills at any moment, and refuses what does not belong to it."""

import errno
import json
import os

import pytest

from verispec_bench.client.record import RequestRecord
from verispec_bench.errors import UnusableInput
from verispec_bench.record import ResultDirectory, Run, identity_differences

RUN = Run("chat/c1", 0, 0, "suffix")
ROW = {"cell": "chat/c1", "arm": "suffix", "failed": 0, "mean_ttft_ms": None, "contaminated": False}
RATES = "spec_decode_per_position_acceptance_rates"


MANIFEST = {"identity": {}, "identity_sha256": "0", "complete": False}


def new(tmp_path) -> ResultDirectory:
    return ResultDirectory.create(tmp_path / "r", MANIFEST)


def test_rows_and_records_come_back_as_they_were(tmp_path):
    records = [RequestRecord("p0", 0.0, token_ids=[1], error=None), RequestRecord("p1", 0.1, error="reset: x")]
    new(tmp_path).add_run(RUN, ROW | {RATES: [0.5, 0.25]}, records)
    results = ResultDirectory.open(tmp_path / "r")
    assert results.has(RUN)
    assert not results.row(RUN)["contaminated"]
    assert results.row(RUN)["mean_ttft_ms"] is None
    assert results.row(RUN)[RATES] == [0.5, 0.25]
    assert results.records()[RUN.id] == records


def test_raw_lines_of_a_run_that_never_finished_are_dropped(tmp_path):
    results = new(tmp_path)
    results.add_run(RUN, ROW, [RequestRecord("p0", 0.0)])
    with (results.path / "requests.jsonl").open("a") as file:
        file.write(
            json.dumps({"run": "other", "index": 0, **RequestRecord("p", 0.0).as_dict()}) + '\n{"run": "cut in the mid'
        )
    before = (results.path / "requests.jsonl").read_text()
    reopened = ResultDirectory.open(results.path)
    assert list(reopened.records()) == [RUN.id]
    assert (results.path / "requests.jsonl").read_text() == before  # a sweep may be writing: readers change nothing
    reopened.drop_unfinished()
    assert len((results.path / "requests.jsonl").read_text().splitlines()) == 1
    assert list(reopened.records()) == [RUN.id]


def test_numbers_that_are_not_finite_become_null(tmp_path):
    results = new(tmp_path)
    results.add_run(RUN, ROW | {"duration": float("nan")}, [RequestRecord("p0", float("inf"))])
    line = json.loads((results.path / "requests.jsonl").read_text(), parse_constant=pytest.fail)
    assert line["scheduled_s"] is None
    assert ResultDirectory.open(results.path).row(RUN)["duration"] is None


def test_a_directory_that_holds_something_is_not_overwritten(tmp_path):
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "thesis.txt").write_text("mine")
    with pytest.raises(UnusableInput, match="is not empty; add --resume"):
        new(tmp_path)


def test_what_is_no_result_directory_is_refused(tmp_path):
    with pytest.raises(UnusableInput, match="is no result directory"):
        ResultDirectory.open(tmp_path)
    (tmp_path / "manifest.json").write_text("{cut")
    with pytest.raises(UnusableInput, match=r"manifest\.json: damaged"):
        ResultDirectory.open(tmp_path)


@pytest.mark.parametrize("manifest", ["[]", "{}", '{"name": "an extension of a browser"}'])
def test_somebody_elses_manifest_is_refused(tmp_path, manifest):
    (tmp_path / "manifest.json").write_text(manifest)
    (tmp_path / "requests.jsonl").write_text("mine\n")
    with pytest.raises(UnusableInput, match="is no manifest"):
        ResultDirectory.open(tmp_path)
    assert (tmp_path / "requests.jsonl").read_text() == "mine\n"


def test_missing_raw_requests_are_named(tmp_path):
    results = new(tmp_path)
    results.add_run(RUN, ROW, [RequestRecord("p0", 0.0)])
    (results.path / "requests.jsonl").unlink()
    with pytest.raises(UnusableInput, match=r"requests\.jsonl lacks the requests of chat/c1"):
        ResultDirectory.open(results.path).records()


@pytest.mark.parametrize("text", ["", "other\n1\n"])
def test_a_damaged_table_is_refused(tmp_path, text):
    results = new(tmp_path)
    (results.path / "cells.csv").write_text(text)
    with pytest.raises(UnusableInput, match=r"cells\.csv: damaged"):
        ResultDirectory.open(results.path)


@pytest.mark.parametrize(
    "planted",
    [
        lambda lines: [lines[0], lines[1][:-9], lines[2]],  # cut in the middle
        lambda lines: [lines[0], lines[1].replace('"index": 1, ', ""), lines[2]],
        lambda lines: [lines[0], lines[1].replace('"index": 1', '"index": 1, "of_a_later_version": 1'), lines[2]],
        lambda lines: [lines[0], lines[1].replace("p1", "p\udcff"), lines[2]],
    ],
)
def test_damaged_raw_requests_are_refused_and_not_left_out(tmp_path, planted):
    results = new(tmp_path)
    results.add_run(RUN, ROW, [RequestRecord(f"p{i}", 0.0) for i in range(3)])
    file = results.path / "requests.jsonl"
    file.write_text("\n".join(planted(file.read_text().splitlines())) + "\n", errors="surrogateescape")
    with pytest.raises(UnusableInput, match=r"requests\.jsonl: damaged"):
        ResultDirectory.open(results.path).records()


@pytest.mark.parametrize("text", ["[]", "{}", "{cut"])
def test_a_summary_of_another_shape_is_refused(tmp_path, text):
    results = new(tmp_path)
    (results.path / "summary.json").write_text(text)
    with pytest.raises(UnusableInput, match=r"no usable summary\.json"):
        results.summary()


@pytest.mark.parametrize("inside", ["r", "r/sweep"])
def test_a_file_is_no_place_for_results(tmp_path, inside):
    (tmp_path / "r").write_text("mine")
    with pytest.raises(UnusableInput, match="is a file; choose another --out"):
        ResultDirectory.create(tmp_path / inside, MANIFEST)


def test_what_cannot_be_written_leaves_nothing_behind_and_is_named(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as raised:
        new(tmp_path)
    assert raised.value.filename == str(tmp_path / "r" / "manifest.json")
    assert list((tmp_path / "r").iterdir()) == []


@pytest.mark.parametrize("arm", ["null", "nan", "none", "1"])
def test_arms_may_be_called_anything(tmp_path, arm):
    results = new(tmp_path)
    run = Run("chat/c1", 0, 0, arm)
    results.add_run(run, ROW | {"arm": arm}, [RequestRecord("p0", 0.0)])
    assert str(ResultDirectory.open(results.path).row(run)["arm"]) == arm


def test_identity_differences_are_named():
    before = {"scenario": {"seed": 0, "load": {"blocks": 2}}, "versions": {"vllm": "1"}}
    now = {"scenario": {"seed": 0, "load": {"blocks": 3}}, "versions": {"vllm": "1"}, "new": 1}
    assert identity_differences(before, now) == ["new", "scenario.load.blocks"]
    assert identity_differences(now, now) == []
