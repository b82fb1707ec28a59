"""What was never drafted counts nowhere; what was committed is counted where it became part of its request."""

from types import SimpleNamespace

import pytest
from vllm.v1.metrics.stats import RequestSpecDecodeMetrics
from vllm.v1.request import RequestStatus
from vllm.v1.spec_decode.metrics import SpecDecodingStats

from verispec.engine.commits import CommitWatch, count_request_round, count_round


@pytest.fixture
def watch():
    return CommitWatch()


def step(watch, scheduled, sampled, stop_after=None, asynchronous=False, nans=None):
    """A step of a scheduler that commits everything, up to a stop; (committed, stopped) by request."""
    scheduler = SimpleNamespace(scheduler_config=SimpleNamespace(async_scheduling=asynchronous))
    output = SimpleNamespace(scheduled_spec_decode_tokens=scheduled, num_invalid_spec_tokens=None)

    def append(scheduler, request, new_token_ids, is_stale=False):
        return new_token_ids[:stop_after], stop_after is not None

    commit = watch.commit(append)

    def update_from_output(scheduler, scheduler_output, model_runner_output):
        requests = {name: SimpleNamespace(request_id=name, status=None, resumable=True) for name in sampled}
        answers = {name: commit(scheduler, requests[name], tokens, is_stale=False) for name, tokens in sampled.items()}
        return answers, requests

    sampled_output = SimpleNamespace(num_nans_in_logits=nans)
    answers, requests = watch.step_output(update_from_output)(scheduler, output, sampled_output)
    return answers, requests, output.num_invalid_spec_tokens


def test_rounds_and_committed_tokens_are_counted_by_request(watch):
    step(watch, {"a": [1, 2, 3], "b": [4]}, {"a": [1, 2, 9], "b": [7], "c": [8]})
    commits = watch.commits
    assert (commits.rounds_with_drafts, commits.rounds_without_drafts) == (2, 1)
    assert commits.scheduled_tokens == 4
    assert commits.committed_tokens == 5
    assert commits.committed_per_position == [2, 1, 1]


def test_tokens_after_a_stop_are_not_committed(watch):
    """Drafts [d1, d2, EOS, d4, d5], all kept by the verifier: three tokens are committed."""
    step(watch, {"a": [1, 2, 0, 4, 5]}, {"a": [1, 2, 0, 4, 5, 6]}, stop_after=3)
    assert watch.commits.committed_tokens == 3
    assert watch.commits.committed_per_position == [1, 1, 1]


def test_padding_is_no_draft(watch):
    _, _, invalid = step(watch, {"a": [-1, -1], "b": [3, -1]}, {"a": [5], "b": [3]})
    assert invalid == {"a": 2, "b": 1}
    assert (watch.commits.rounds_with_drafts, watch.commits.rounds_without_drafts) == (1, 1)
    assert watch.commits.scheduled_tokens == 1


def test_under_async_scheduling_placeholders_are_drafts(watch):
    _, _, invalid = step(watch, {"a": [-1, -1]}, {"a": [5, 6]}, asynchronous=True)
    assert invalid is None
    assert watch.commits.scheduled_tokens == 2
    assert watch.commits.rounds_with_drafts == 1


def test_a_failed_request_ends_with_an_error_and_no_other_does(watch):
    answers, requests, _ = step(watch, {}, {"a": [5], "b": [6]}, nans={"a": 1, "b": 0})
    assert answers == {"a": ([], True), "b": ([6], False)}
    assert requests["a"].status is RequestStatus.FINISHED_ERROR
    assert requests["b"].status is None
    assert watch.commits.committed_tokens == 1


def stats_after(drafted, accepted, invalid):
    def original(self, stats, num_draft_tokens, num_accepted_tokens, num_invalid_spec_tokens, request_id):
        stats.observe_draft(num_draft_tokens - (num_invalid_spec_tokens or {}).get(request_id, 0), num_accepted_tokens)
        return stats

    stats = count_round(original)(None, SpecDecodingStats.new(3), drafted, accepted, invalid, "a")
    return stats.num_drafts, stats.num_draft_tokens, stats.num_accepted_tokens


@pytest.mark.parametrize(
    ("invalid", "counted"),
    [(None, (1, 3, 1)), ({}, (1, 3, 1)), ({"b": 3}, (1, 3, 1)), ({"a": 1}, (1, 2, 1)), ({"a": 3}, (0, 0, 0))],
)
def test_a_step_without_a_draft_is_no_round_in_vllms_counts(invalid, counted):
    assert stats_after(3, 1 if counted[0] else 0, invalid) == counted


def test_a_step_without_a_draft_is_no_round_of_its_request():
    metrics = RequestSpecDecodeMetrics.new(3)
    observe = count_request_round(RequestSpecDecodeMetrics.observe)
    observe(metrics, num_draft_tokens=0, num_accepted=0, detailed=True)
    observe(metrics, num_draft_tokens=2, num_accepted=1, detailed=True)
    assert metrics.per_step_drafted == [2]
    assert metrics.histogram == [0, 1, 0, 0]
