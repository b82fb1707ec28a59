"""After a forced rejection every kind of decoder state is what a target-only engine has after the same tokens.

And would we notice? Each kind of state has a planted leak; the table of leaks and of the snapshots that differ under
each is printed with `-rP`. A leak that nothing notices fails the suite.
"""

import pytest

from tests.engine.conftest import run_json
from tests.engine.leaks import LEAKS

OURS = {"method": "custom_class", "model": "verispec.engine.Proposer", "num_speculative_tokens": 4}
OWN_TEST = {
    "penalties count a rejected draft": "penalties",
    "penalties count the draft that is judged": "next law",
    "grammar one token ahead": "grammar",
    "KV row of a rejected draft kept": "target KV",
    "KV rows of rejected drafts two slots early": "computed KV rewritten",
    "random position advanced by rejected drafts": "random state",
    "drafts streamed before they are verified": "streamed text",
    "stop buffer holds a rejected draft": "stop buffer",
    "usage counts rejected drafts": "usage",
    "drafter remembers a rejected draft": "drafter",
}
"""The test that must notice each leak, whatever else does."""
TESTS = (
    "target KV", "computed KV rewritten", "penalties", "grammar", "random state", "stop buffer", "usage", "drafter",
    "streamed text", "next law", "tokens", "answer",
)  # fmt: skip


@pytest.fixture(scope="module")
def runs(byte_model, target_only):
    options = {"speculative_config": OURS, "enable_prefix_caching": False}
    return run_json("tests.engine.rollback", byte_model, options, target_only["path"])


@pytest.mark.parametrize("state", TESTS)
def test_a_rejected_draft_leaves_no_trace_in(runs, state):
    """Nor in the law of the next token, which is compared for every token of the vocabulary."""
    assert runs["nothing"]["snapshots"] > 300
    assert runs["nothing"]["differing"].get(state, 0) == 0


def test_how_far_floats_move_is_measured(runs):
    """Keys, values and logprobs after rounds of several rows, against passes of one row."""
    worst = runs["nothing"]["worst"]
    print(f"\ntarget KV within {worst['target KV']:.1e}, logprobs of the next token within {worst['next law']:.1e}")
    assert max(worst.values()) < 5e-6


def test_drafts_were_rejected_after_every_number_of_accepted_ones(runs):
    rejected = runs["nothing"]["rejected after"]
    assert rejected.keys() == {"0", "1", "2", "3"}
    assert min(rejected.values()) > 40


def test_every_planted_leak_is_noticed(runs):
    print("\nsnapshots that differ (once its tokens do, a request is compared no further)")
    print(" " * 45 + " ".join(f"{test:>9}" for test in TESTS))
    for leak in LEAKS:
        counts = (runs[leak]["differing"].get(test, 0) for test in TESTS)
        print(
            f"{leak:<45}" + " ".join(f"{count:>{max(9, len(test))}}" for test, count in zip(TESTS, counts, strict=True))
        )
    assert OWN_TEST.keys() == LEAKS.keys()
    assert [leak for leak, test in OWN_TEST.items() if not runs[leak]["differing"].get(test)] == []


def test_every_kind_of_state_has_a_leak(runs):
    noticed = {test for leak in LEAKS for test in runs[leak]["differing"]}
    assert set(TESTS) <= noticed
