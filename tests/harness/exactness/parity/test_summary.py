"""Whole comparisons over fakes in this process: positive controls and their verdicts."""

from contextlib import AsyncExitStack

import pytest

from tests.fakes.greedy_model import GreedyModel
from tests.fakes.server import FakeServer, serving
from verispec_bench.client import Target
from verispec_bench.exactness.chunk_file import ChunkFile
from verispec_bench.exactness.parity.answer import Answer
from verispec_bench.exactness.parity.corpus import corpus
from verispec_bench.exactness.parity.evidence import Evidence
from verispec_bench.exactness.parity.summary import summarise_parity
from verispec_bench.exactness.posting import post_all
from verispec_bench.scenario import Parity

NOISE, TIES = 1e-4, [7]


def server(greedy=None, **changes):
    return FakeServer(greedy=GreedyModel(ties=TIES, noise=NOISE, **greedy or {}), chunk_s=0, **changes)


@pytest.fixture
def compared(tmp_path):
    """The section `parity` for an arm that differs from the target as told."""

    async def compare(greedy=None, dtype="float32", max_envelope=0.01, **changes):
        parity = Parity(prompts=18, tokens=12, concurrency=4, envelope_prompts=10, max_envelope=max_envelope)
        evidence = Evidence(parity, ["x"], corpus(18), kept := ChunkFile(tmp_path / "a.jsonl", Answer))
        arms = {"target-only": server(), "x": server(greedy, **{"speculative": True} | changes)}
        async with AsyncExitStack() as running:
            urls = {arm: await running.enter_async_context(serving(fake)) for arm, fake in arms.items()}
            while missing := evidence.missing():
                for chunk in missing:
                    requests = [(ask.path, ask.body) for ask in chunk.asks]
                    target, options = Target(urls[chunk.server], "m"), {"concurrency": 4, "timeout_s": 5.0}
                    kept.add(
                        chunk, await post_all(target, requests, lambda i, a, c=chunk: c.asks[i].read(a), **options)
                    )
        return summarise_parity(parity, evidence, dtype)

    return compare


def only_arm(summary):
    (arm,) = summary["arms"]
    return arm


async def test_the_same_target_is_closed_and_its_envelope_is_the_noise_of_its_passes(compared):
    """Ten answers of 12 tokens: the noise is 0, 1/3, 2/3 and 1 of NOISE, equally often."""
    summary = await compared()
    envelope = summary["envelope"]
    assert (envelope["positions"], envelope["unknown"]) == (120, 0)
    assert envelope["maximum"] == pytest.approx(NOISE)
    assert envelope["p99"] == pytest.approx(NOISE)
    assert envelope["median"] == pytest.approx(NOISE / 2)
    arm = only_arm(summary)
    assert (arm["compared"], arm["identical"], arm["divergences"], arm["verdict"]) == (18, 18, [], "closed")
    assert (arm["rounds"], arm["draft_tokens"], arm["accepted_tokens"], arm["tokens"]) == (108, 216, 108, 216)
    assert (arm["rows"]["positions"], arm["rows"]["drafted"], arm["rows_outside"]) == (120, 110, 0.0)
    assert summary["closed"] is True


async def test_other_tokens_at_near_ties_are_explained(compared):
    arm = only_arm(summary := await compared({"flips": TIES}))
    assert summary["closed"] is True
    assert arm["verdict"] == "closed"
    assert (arm["identical"], arm["near_ties"], arm["unexplained"]) == (0, 18, 0)
    for found in arm["divergences"]:
        assert found["baseline"] % 10 == 7
        assert found["arm"] == found["baseline"] + 1
        assert abs(found["baseline_gap"]) <= NOISE
        assert (found["baseline_text"], found["arm_text"]) == (f" t{found['baseline']}", f" t{found['arm']}")
    assert summary["envelope"]["positions"] == 120 - 10  # those where an answer left target-only's
    assert arm["rows"]["positions"] < 120 - 10  # nor what came after


async def test_one_other_token_with_a_large_gap_is_unexplained(compared):
    arm = only_arm(summary := await compared({"flips": [3]}))
    assert summary["closed"] is False
    assert arm["verdict"] == "differs"
    assert arm["unexplained"] == len(arm["divergences"]) > 0
    assert all(found["baseline_gap"] == pytest.approx(1, abs=1e-3) for found in arm["divergences"])
    assert "answers differ, and no near-tie explains it" in arm["reasons"][0]


@pytest.mark.parametrize(
    ("changes", "kind"),
    [({"text_end": "leak"}, "text"), ({"answer_tokens": 11}, "length"), ({"finish": "length"}, "finish")],
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
async def test_what_is_no_token_is_never_explained_in_any_precision(compared, changes, kind, dtype):
    arm = only_arm(await compared(dtype=dtype, **changes))
    assert arm["verdict"] == "differs"
    assert {found["kind"] for found in arm["divergences"]} == {kind}
    assert arm["unexplained"] == 18


async def test_in_half_precision_near_ties_are_a_rate_however_wide_the_envelope(compared):
    arm = only_arm(summary := await compared({"flips": TIES}, dtype="bfloat16", max_envelope=NOISE / 2))
    assert (summary["reported_as"], summary["dtype"], summary["closed"]) == ("rate", "bfloat16", True)
    assert arm["verdict"] == "rate"
    assert arm["identical_rate"] == arm["identical"] / 18 < 1
    assert arm["near_ties"] > 0


@pytest.mark.parametrize(("greedy", "verdict"), [({"flips": [3]}, "differs"), ({"drift": 5 * NOISE}, "drifts")])
async def test_in_half_precision_too_a_large_gap_is_unexplained_and_a_drift_is_found(compared, greedy, verdict):
    arm = only_arm(summary := await compared(greedy, dtype="bfloat16"))
    assert (arm["verdict"], summary["closed"]) == (verdict, False)


async def test_an_arm_whose_steps_drift_from_the_target_is_found_though_its_tokens_are_the_same(compared):
    arm = only_arm(await compared({"drift": 5 * NOISE}))
    assert (arm["identical"], arm["verdict"]) == (18, "drifts")
    assert arm["rows_outside"] == pytest.approx(0.75)  # all but the multiples of 4
    assert "its logits are not the target's" in arm["reasons"][0]


async def test_no_arm_can_widen_the_envelope_that_it_is_judged_by(compared):
    summary = await compared({"drift": 0.9, "flips": [3]})
    assert summary["envelope"]["maximum"] == pytest.approx(NOISE)
    assert only_arm(summary)["near_ties"] == 0


async def test_an_envelope_that_is_no_rounding_proves_nothing(compared):
    arm = only_arm(await compared({"flips": TIES}, max_envelope=NOISE / 2))
    assert arm["verdict"] == "too noisy"
    assert "is above 5e-05 nats (parity.max_envelope)" in arm["reasons"][0]


async def test_nothing_drafted_is_no_pass(compared):
    assert only_arm(await compared(drafted=False))["verdict"] == "not drafted"
