"""What is wrong with a comparison is said, one sentence for each thing; what is part of the traffic is not wrong."""

from dataclasses import replace

import pytest

from verispec_bench.client import RequestRecord
from verispec_bench.stats import Block, compare
from verispec_bench.sweep.pairs import whole_blocks
from verispec_bench.sweep.validity import reasons_against, warnings_about


def answer(tokens=10, prompt_tokens=50, start=0.0, drafted=4, error=None, sent_tokens=None) -> RequestRecord:
    times = [start + 0.1 * (i + 1) for i in range(tokens)]
    return RequestRecord(
        "p", start, chunk_times_s=times, chunk_tokens=[1] * tokens, end_s=times[-1], prompt_tokens=prompt_tokens,
        sent_tokens=sent_tokens, completion_tokens=tokens, error=error, num_draft_tokens=drafted, num_accepted_tokens=2,
    )  # fmt: skip


def row(arm, **changes):
    return {
        "run": arm, "arm": arm, "block": 0, "attempt": 0, "failed": 0, "start": "s", "contaminated": False,
        "contamination": None, "foreign_cpu": 0.0, "prefix_cache_queries": 100, "prefix_cache_hits": 0,
        "preemptions": 0, "input_len": None, "client_bottleneck": None, "concurrency": 4,
    } | changes  # fmt: skip


def reasons(baseline=None, arm=None, answers=None, workload=None, measures=None, name="suffix"):
    """Of four blocks of five prompts that are alike but for what is given."""
    block = {"target-only": row("target-only", **(baseline or {})), name: row(name, **(arm or {}))}
    ours, theirs = answers or ([answer() for _ in range(5)], [answer() for _ in range(5)])
    found = compare([Block(ours, theirs)] * 4)
    said = {"fallbacks": None, "target_only_share": None} | (measures or {})
    return reasons_against([block] * 4, "target-only", name, [(ours, theirs)] * 4, found, said, workload or {})


def warnings(arm=None, concurrency=4, first_token_s=0.1, step_s=0.1, tokens_per_step=2.0):
    """Of four blocks of five prompts; the arm's first token and the others may take longer or shorter than 0.1 s."""
    block = {
        "target-only": row("target-only", concurrency=concurrency),
        "x": row("x", **{"concurrency": concurrency} | (arm or {})),
    }
    times = [first_token_s + step_s * i for i in range(10)]
    theirs = [replace(answer(), chunk_times_s=times, end_s=times[-1]) for _ in range(5)]
    found = compare([Block([answer() for _ in range(5)], theirs)] * 4)
    return warnings_about([block] * 4, "target-only", "x", found, tokens_per_step)


def test_a_clean_comparison_has_no_reasons():
    assert reasons() == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"arm": {"failed": 1}}, "4 requests failed"),
        ({"arm": {"start": "t"}}, "a pair was interrupted, and its arms ran on different starts of the servers"),
        (
            {"arm": {"contaminated": True, "contamination": "the clock jumped by 3.0 s"}},
            "the clock jumped by 3.0 s, and no clean retry was left",
        ),
        ({"baseline": {"prefix_cache_hits": 60}}, "target-only found prompts in its prefix cache: they were not fresh"),
        ({"arm": {"preemptions": 2}}, "suffix preempted 8 requests: its KV cache is too small for the load"),
        (
            {"measures": {"fallbacks": {"raised": 2, "memory-pressure": 1}, "target_only_share": 0.25}},
            "the arm fell back to target-only decoding for 25% of the time: raised (2)",
        ),
        ({"workload": {"invalid_because": "random tokens"}}, "random tokens"),
    ],
)
def test_each_fault_has_its_sentence(changes, sentence):
    assert reasons(**changes) == [sentence]


def test_hits_of_prompts_that_share_a_prefix_must_be_alike():
    shared = {"shares_prefix": True}
    assert reasons({"prefix_cache_hits": 80}, {"prefix_cache_hits": 82}, workload=shared) == []
    assert reasons({"prefix_cache_hits": 80}, {"prefix_cache_hits": 20}, workload=shared) == [
        "the arms found 80% and 20% of the prompts in their prefix caches"
    ]


def test_answers_of_another_length_are_other_work():
    longer = ([answer(10) for _ in range(5)], [answer(14) for _ in range(5)])
    assert reasons(answers=longer) == ["the arms' answers have 200 and 280 tokens: they did different work"]


def test_lengths_that_differ_by_chance_are_the_same_work():
    """Sampled answers: as often longer as shorter, and by much."""
    ours = [answer(n) for n in (5, 30, 8, 25, 12)]
    theirs = [answer(n) for n in (28, 7, 26, 9, 24)]
    assert reasons(answers=(ours, theirs)) == []


def test_prompts_must_have_the_length_that_was_sent():
    right = [answer(prompt_tokens=64, sent_tokens=64) for _ in range(5)]
    wrong = [answer(prompt_tokens=65, sent_tokens=64) for _ in range(5)]
    assert reasons(answers=(right, right)) == []
    assert reasons(answers=(right, wrong)) == ["prompts of 64 tokens were sent, the servers counted 65"]


def test_only_an_arm_that_speculates_must_have_drafted():
    nothing = ([answer(drafted=None) for _ in range(5)], [answer(drafted=0) for _ in range(5)])
    assert reasons(answers=nothing) == ["nothing was drafted: this is not a speculative arm"]
    assert reasons(answers=nothing, name="control") == []


def test_a_client_that_was_the_bottleneck_is_a_warning():
    assert warnings({"client_bottleneck": "it used 90% of a processor"}) == [
        "the load client was the bottleneck in some runs: it used 90% of a processor"
    ]
    assert warnings() == []


def test_a_server_that_takes_longer_for_prompts_than_drafts_explain_is_a_warning():
    assert warnings(concurrency=1, first_token_s=0.17) == [
        "a request alone waits 1.7 times as long for its first token as on target-only: a drafter that reads the "
        "prompt as well does that, or something that slows the whole server; drafts do not"
    ]
    assert warnings(concurrency=1, first_token_s=0.11) == []
    assert warnings(concurrency=4, first_token_s=0.17) == [], "there it may wait for the steps of others"


def test_a_gain_that_the_tokens_of_a_step_do_not_explain_is_a_warning():
    assert warnings(step_s=0.05, tokens_per_step=1.03) == [
        "faster than 1.03 tokens a step explain: by chance, or the servers differ in more than speculation"
    ]
    assert warnings(step_s=0.05, tokens_per_step=2.5) == []
    assert warnings(step_s=0.05, tokens_per_step=None) == []
    assert warnings(step_s=0.05, tokens_per_step=1.03, concurrency=None) == [], "there waiting in the queue counts"


def test_a_block_across_two_starts_of_the_servers_is_left_out_where_enough_others_remain():
    rows = [row(arm, block=block, start=f"{arm if block == 1 else 's'}") for block in range(3) for arm in ("a", "x")]
    assert [block["x"]["block"] for block in whole_blocks(rows, ["a", "x"], wanted=2)] == [0, 2]


def test_counters_that_were_not_read_are_a_warning():
    unread = {"prefix_cache_hits": None, "preemptions": None}
    assert warnings(unread) == ["of x is not known: prefix_cache_hits, preemptions"]


def test_contaminated_blocks_are_left_out_where_enough_clean_ones_remain():
    rows = [row(arm, block=block, contaminated=block == 1) for block in range(3) for arm in ("target-only", "x")]
    assert [block["x"]["block"] for block in whole_blocks(rows, ["target-only", "x"], wanted=2)] == [0, 2]
    assert [block["x"]["block"] for block in whole_blocks(rows, ["target-only", "x"], wanted=3)] == [0, 1, 2]


def test_a_block_counts_by_its_last_attempt_that_all_arms_finished():
    rows = [row("target-only"), row("x"), row("target-only", attempt=1), row("x", attempt=1), row("x", attempt=2)]
    (block,) = whole_blocks(rows, ["target-only", "x"], wanted=1)
    assert {arm: run["attempt"] for arm, run in block.items()} == {"target-only": 1, "x": 1}
