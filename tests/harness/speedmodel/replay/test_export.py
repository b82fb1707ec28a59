"""A sweep's traces are what its servers committed step by step, and its bill is what its runs took."""

import json

import pytest

from verispec_bench.client.record import RequestRecord
from verispec_bench.errors import UnusableInput
from verispec_bench.record import ResultDirectory
from verispec_bench.record.results import Run
from verispec_bench.speedmodel.replay import Bill, read_traces, replay
from verispec_bench.speedmodel.replay.export import export

MANIFEST = {"identity": {}, "identity_sha256": "", "complete": True}


def answer(chunks, tokens=None):
    ids = list(range(sum(chunks))) if tokens is None else tokens
    return RequestRecord("p", 0.0, prompt_tokens=7, completion_tokens=len(ids), token_ids=ids, chunk_tokens=chunks)


def row(arm, drafts, **fields):
    return {
        "cell": "c", "block": 0, "attempt": 0, "arm": arm, "workload": "chat", "temperature": 0, "contaminated": False,
        "engine_steps": 10, "total_output_tokens": 12, "completed": 2, "tokens_per_step": 1.2 if drafts else 1.0,
        "draft_tokens": drafts, "total_input_tokens": 14, "input_len_mean": 7.0, "output_len_mean": 6.0,
        "duration": 1.0, "step_draft_s": 0.5 if drafts else None,
    } | fields  # fmt: skip


def results(path, *runs):
    directory = ResultDirectory.create(path / "sweep", MANIFEST)
    for fields, answers in runs:
        directory.add_run(Run("c", 0, 0, fields["arm"]), fields, answers)
    return ResultDirectory.open(path / "sweep")


def test_a_trace_holds_what_each_step_committed(tmp_path):
    swept = results(
        tmp_path,
        (row("target-only", None), [answer([1] * 6), answer([1] * 6)]),
        (row("a", 30), [answer([1, 3, 2]), answer([1, 5])]),
        (row("b", 9), [answer([1, 1, 4]), answer([2, 4], tokens=[9] * 6)]),
    )
    file, bill = export(swept, tmp_path / "traces")
    [trace] = read_traces(file)  # the second answer differs between the arms
    assert (file.name, trace.id, trace.prompt_tokens, trace.tokens) == ("chat.jsonl", "c/b0/0", 7, 6)
    assert trace.step_lengths["a"].tolist() == [1, 3, 2, 1, 2, 1]
    assert trace.step_lengths["b"].tolist() == [1, 1, 4, 3, 2, 1]
    priced = Bill.read(bill)
    assert priced.drafters["a"].step_s == pytest.approx(0.05)  # by its clock: no round was counted
    assert {result.policy for result in replay({"chat": [trace]}, priced, [1])} >= {"a", "b"}


def test_a_round_is_billed_for_what_it_adds_beside_drafting(tmp_path):
    """Steps of 50 ms, prompts of 2 ms a token, 10 ms for each round, and 5 ms of drafting in each step."""

    def run(block, steps, rounds, prompt):
        seconds = 0.05 * steps + 0.002 * 2 * prompt + 0.01 * rounds + (0.005 * steps if rounds else 0)
        return row("a" if rounds else "target-only", 10 if rounds else None, block=block, engine_steps=steps,
                   verify_steps=rounds or None, total_input_tokens=2 * prompt, duration=seconds,
                   step_draft_s=0.005 * steps if rounds else None)  # fmt: skip

    answers = [answer([1, 3, 2]), answer([1, 5])]
    directory = ResultDirectory.create(tmp_path / "sweep", MANIFEST)
    for block in range(12):
        for fields in (
            run(block, 40 + 9 * block, 0, 7 + 20 * (block % 3)),
            run(block, 60 + 5 * block, 25 + 3 * block, 7),
        ):
            directory.add_run(Run("c", block, 0, fields["arm"]), fields, answers)
    _, bill = export(ResultDirectory.open(tmp_path / "sweep"), tmp_path / "traces")
    priced = Bill.read(bill)
    assert priced.drafters["a"].step_s == pytest.approx(0.015, rel=0.1)
    assert priced.prompt_token_s == pytest.approx(0.002, rel=0.1)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"temperature": 0.8}, "no greedy answer"),
        ({"contaminated": True}, "no greedy answer"),
        ({"engine_steps": None}, "did not count their steps"),
    ],
)
def test_what_cannot_be_exported_is_refused(tmp_path, fields, said):
    swept = results(tmp_path, (row("a", 30, **fields), [answer([1, 3, 2]), answer([1, 5])]))
    with pytest.raises(UnusableInput, match=said):
        export(swept, tmp_path / "traces")
    assert not (tmp_path / "traces" / "chat.jsonl").exists()


def test_answers_that_did_not_come_step_by_step_are_left_out(tmp_path):
    whole = answer([1, 3])
    whole.chunk_tokens = []
    swept = results(tmp_path, (row("a", 30), [whole, answer([1, 5])]))
    file, _ = export(swept, tmp_path / "traces")
    assert [json.loads(line)["id"] for line in file.read_text().splitlines()] == ["c/b0/1"]
