"""Every measure against numbers worked out by hand."""

import pytest

from verispec_bench.client.record import RequestRecord
from verispec_bench.measure import acceptance as a
from verispec_bench.measure import measure_run
from verispec_bench.measure.latency import e2el_s, itl_s, tpot_s, ttft_s
from verispec_bench.measure.percentiles import percentile
from verispec_bench.measure.server_metrics import parse_metrics


def record(times=(), tokens=(), scheduled=0.0, end=None, **fields) -> RequestRecord:
    fields.setdefault("completion_tokens", sum(tokens))
    end = end if end is not None else (times[-1] if times else 0.0)
    return RequestRecord("p", scheduled, chunk_times_s=list(times), chunk_tokens=list(tokens), end_s=end, **fields)


def speculated(tokens, chunks, accepted, rounds, drafted) -> RequestRecord:
    return record(
        times=[0.1 * (i + 1) for i in range(chunks)],
        tokens=[tokens // chunks] * chunks,
        completion_tokens=tokens,
        num_spec_steps=rounds,
        num_accepted_tokens=accepted,
        num_draft_tokens=drafted,
    )


def test_twelve_tokens_in_three_chunks():
    """4 tokens each 40 ms: TPOT is 10 ms, gaps between tokens are 10 ms, never 40."""
    answer = record(times=(0.100, 0.140, 0.180), tokens=(4, 4, 4))
    assert ttft_s(answer) == pytest.approx(0.100)
    assert tpot_s(answer) == pytest.approx(0.010)
    assert itl_s(answer) == pytest.approx([0.010] * 8)


def test_latencies_count_from_the_scheduled_time():
    answer = record(times=(1.5, 2.0), tokens=(1, 1), scheduled=1.0, sent_s=1.2)
    assert ttft_s(answer) == pytest.approx(0.5)
    assert e2el_s(answer) == pytest.approx(1.0)


def test_what_cannot_be_known_is_none():
    assert tpot_s(record(times=(0.1,), tokens=(1,))) is None
    assert tpot_s(record(times=(0.1,), tokens=(5,))) is None
    assert ttft_s(record()) is None
    assert e2el_s(record()) is None


def test_fewer_tokens_than_asked_use_what_came():
    answer = record(times=[0.1 + 0.02 * i for i in range(10)], tokens=[1] * 10)
    assert tpot_s(answer) == pytest.approx(0.02)


def test_percentiles_of_too_few_values_are_none():
    assert percentile([1.0] * 19, 95) is None
    assert percentile([1.0] * 20, 95) == 1.0
    assert percentile([1.0] * 99, 99) is None
    assert percentile([], 50) is None


def test_p95_of_gaps_needs_twenty_requests_not_twenty_gaps():
    few = [record(times=[0.01 * i for i in range(1, 31)], tokens=[1] * 30) for _ in range(19)]
    assert measure_run(few)["p95_itl_ms"] is None
    assert measure_run([*few, few[0]])["p95_itl_ms"] == pytest.approx(10)


def test_without_usage_throughput_is_unknown_not_zero():
    answer = record(times=(0.1, 0.2), completion_tokens=None)
    measures = measure_run([answer])
    assert (measures["completed"], measures["total_output_tokens"], measures["output_throughput"]) == (1, None, None)
    assert measures["median_ttft_ms"] == pytest.approx(100)


def test_a_run():
    first = record(times=(0.1, 0.2), tokens=(1, 1), prompt_tokens=10)
    second = record(times=(0.3, 0.5), tokens=(1, 3), prompt_tokens=20)
    failed = record(end=1.0, error="timeout: no end after 1 s")
    measures = measure_run([first, second, failed])
    assert (measures["completed"], measures["failed"], measures["duration"]) == (2, 1, 1.0)
    assert measures["output_throughput"] == pytest.approx(6.0)
    assert measures["total_token_throughput"] == pytest.approx(36.0)
    assert measures["request_throughput"] == pytest.approx(2.0)
    assert measures["mean_ttft_ms"] == pytest.approx(200.0)
    assert measures["median_tpot_ms"] == pytest.approx((100 + 200 / 3) / 2)
    assert measures["p95_tpot_ms"] is None


def test_a_run_in_which_all_failed_has_no_measures_but_counts():
    measures = measure_run([record(end=1.0, error="refused: x")] * 3)
    assert (measures["completed"], measures["failed"]) == (0, 3)
    assert {key for key, value in measures.items() if value == 0} == {"completed"}
    assert measures["output_throughput"] is None
    assert measures["mean_ttft_ms"] is None
    assert measures["tokens_per_step"] is None


def test_acceptance_pools_counts_before_dividing():
    """Rounds (3 accepted in 1) and (2 in 4): length 1 + 5/5, not the mean of 4 and 1.5."""
    pair = [speculated(4, 1, 3, 1, 5), speculated(6, 4, 2, 4, 20)]
    assert a.acceptance_length(pair) == pytest.approx(2.0)
    assert a.acceptance_rate(pair) == pytest.approx(0.2)


def test_nothing_drafted_is_none_not_zero():
    idle = [speculated(4, 4, 0, 0, 0)]
    assert a.acceptance_length(idle) is None
    assert a.acceptance_rate(idle) is None
    assert a.per_position_rates(idle) is None


def test_tokens_per_step_counts_steps_without_a_draft():
    """10 tokens, 4 accepted: 6 steps, of which only 2 had a draft; acceptance length says 3."""
    answer = speculated(10, 5, 4, 2, 8)
    assert a.tokens_per_step([answer]) == pytest.approx(10 / 6)
    assert a.acceptance_length([answer]) == pytest.approx(3.0)


def test_drafts_accepted_past_a_stop_do_not_shrink_the_steps():
    """vLLM reports 6 accepted where 3 tokens came in 2 chunks: 2 steps, not -3."""
    assert a.decode_steps(speculated(3, 2, 6, 2, 8)) == 2


def test_chunks_merged_under_load_do_not_shrink_the_steps():
    assert a.decode_steps(record(times=(0.1, 0.2), tokens=(4, 4))) == 8


def test_a_server_without_speculation_makes_one_token_a_step():
    assert a.tokens_per_step([record(times=(0.1, 0.2, 0.3), tokens=(1, 1, 1))]) == 1.0


def test_histogram_and_per_position_rates():
    answers = [record(accepted_per_step=[0, 2, 3]), record(accepted_per_step=[0])]
    assert a.accepted_per_round(answers) == {0: 2, 1: 0, 2: 1, 3: 1}
    assert a.per_position_rates(answers) == pytest.approx([0.5, 0.5, 0.25])


def test_metrics_are_summed_over_engines_and_created_rows_are_left_out():
    text = """
# TYPE vllm:spec_decode_num_accepted_tokens counter
vllm:spec_decode_num_accepted_tokens_total{model_name="m",engine="0"} 8.0
vllm:spec_decode_num_accepted_tokens_total{engine="1",model_name="m"} 18.0
vllm:spec_decode_num_accepted_tokens_created{engine="0",model_name="m"} 1.7e+09
# TYPE vllm:spec_decode_num_drafts counter
vllm:spec_decode_num_drafts_total{engine="0"} 10.0
vllm:spec_decode_num_drafts_total{engine="1"} 20.0
vllm:spec_decode_num_drafts_created{engine="1"} 1.7e+09
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0"} 3.0
"""
    assert parse_metrics(text) == {"accepted_tokens": 26.0, "drafts": 30.0, "running": 3.0}


def test_fallbacks_are_summed_by_reason():
    text = """
verispec:fallbacks_total{engine="0",reason="raised"} 2.0
verispec:fallbacks_total{engine="1",reason="raised"} 1.0
verispec:fallbacks_total{engine="0",reason="stalled"} 0.0
verispec:target_only_seconds_total{engine="0"} 61.5
"""
    assert parse_metrics(text) == {"fallbacks.raised": 3.0, "fallbacks.stalled": 0.0, "target_only_s": 61.5}
