"""Which requests are made, in which order, and which are left when a part is kept."""

import pytest

from verispec_bench.exactness.chunk_file import ChunkFile
from verispec_bench.exactness.parity.answer import Answer
from verispec_bench.exactness.parity.corpus import corpus
from verispec_bench.exactness.parity.evidence import Evidence
from verispec_bench.scenario import Parity

IDS = [1, 2, 3]


@pytest.fixture
def evidence(tmp_path):
    """A comparison of two arms, and the file of what is made."""

    def plan(prompts=20, envelope_prompts=12):
        kept = ChunkFile(tmp_path / "a.jsonl", Answer)
        parity = Parity(prompts=prompts, tokens=8, concurrency=4, envelope_prompts=envelope_prompts)
        return Evidence(parity, ["x", "y"], corpus(prompts), kept), kept

    return plan


def made(chunk, token_ids=IDS):
    return [Answer(ask.prompt, [9], token_ids, rows=[[[1, 0.0, ""], [2, -1.0, ""]]] * 3) for ask in chunk.asks]


def test_servers_take_turns_in_an_order_that_turns_round(evidence):
    order = [(chunk.server, chunk.index, len(chunk.asks)) for chunk in evidence()[0].missing()]
    assert order == [
        *[(server, 0, 8) for server in ("target-only", "x", "y")],
        *[(server, 1, 8) for server in ("y", "x", "target-only")],
        *[(server, 2, 4) for server in ("target-only", "x", "y")],
    ]


def test_what_is_kept_is_not_made_again(evidence):
    plan, kept = evidence()
    first, *others = plan.missing()
    kept.add(first, made(first))
    assert evidence()[0].missing() == others


def test_the_sample_is_answered_in_batches_of_every_shape_with_all_kinds_in_each(evidence):
    plan, kept = evidence(prompts=60, envelope_prompts=60)
    for chunk in plan.missing():
        kept.add(chunk, made(chunk))
    rows = [chunk for chunk in plan.missing() if chunk.server == "x"]
    assert [(c.phase, c.concurrency, len(c.asks)) for c in rows] == [
        ("rows", 4, 36),
        ("rows-of-few", 4, 12),
        ("rows-alone", 1, 12),
    ]
    for chunk in rows:
        assert len({ask.prompt.split("-")[0] for ask in chunk.asks}) == 6
    assert len({ask.prompt for chunk in rows for ask in chunk.asks}) == 60


def test_only_other_tokens_are_replayed_on_both_servers_at_their_own_prefix(evidence):
    plan, kept = evidence()
    for chunk in plan.missing():
        answers = made(chunk)
        if (chunk.server, chunk.index) == ("y", 0):
            answers[0] = Answer(answers[0].prompt, [9], [1, 7, 3])
            answers[1] = Answer(answers[1].prompt, [9], [1, 2])
        kept.add(chunk, answers)
    while (missing := plan.missing()) and not missing[0].phase.startswith("replays"):
        for chunk in missing:
            kept.add(chunk, made(chunk))
    assert [(c.phase, c.server) for c in missing] == [("replays/y", "target-only"), ("replays/y", "y")]
    for chunk in missing:
        (ask,) = chunk.asks
        assert (ask.body["prompt"], ask.scored) == ([9, 1, 2], 1)
    assert [d.kind for d in plan.differences("y")] == ["token", "length"]
    assert plan.differences("x") == []
