"""Every metric against numbers worked out by hand, and against what it must be without its inputs: nothing."""

from dataclasses import replace

import pytest

from tests.harness.measure.literal import counted, request, run, sampled, speculated
from verispec_bench.measure import METRICS, ResourceWindow, RunData, ServerWindow, Slo, measure
from verispec_bench.measure.metric import SOURCES

TWO = run(
    request((0.1, 0.2), (1, 1), prompt_tokens=10, max_tokens=4, finish_reason="stop"),
    request((0.3, 0.5), (1, 3), prompt_tokens=20, max_tokens=6, finish_reason="length"),
    request(end=2.0, error="timeout: no end after 1 s", completion_tokens=None),
)
"""Two answers of 2 and 4 tokens, and a failure, in 2 s."""
IN_TWENTIES = run(*(request((0.01 * i,), (1,)) for i in range(1, 101)))
"""A hundred answers of one token after 10, 20, … 1000 ms."""
VARIABLE = run(speculated(9, 5, [(2, 3), (0, 1), (1, 1)]), speculated(4, 2, [(3, 3)]))
"""Rounds that keep 2 of 3, 0 of 1, 1 of 1 drafts, and 3 of 3."""
UNEVEN = run(speculated(4, 1, [(3, 5)]), speculated(6, 4, [(1, 5), (1, 5), (0, 5), (0, 5)]))
"""A round that keeps 3 drafts, and four that keep 2 together."""
STEPS = {"draft_s": 1.0, "rule_s": 0.5, "verifying_s": 4.0, "decoding_s": 1.5, "prompts_s": 0.5,
         "other_s": 0.5}  # fmt: skip
PHASES = {"request_queue_s": 1.0, "request_prefill_s": 3.0, "request_decode_s": 6.0, "finished_requests": 4.0}
SERVED = sampled((False, 1, 9, 0.9), (True, 4, 0, 0.25), (True, 2, 3, 0.75), (True, 0, 3, 0.5))
CACHE = run(
    request((0.1,), (10,), prompt_tokens=20), request((0.1,), (2,), prompt_tokens=16),
    server=ServerWindow(kv_blocks=10, kv_block_size=16),
)  # fmt: skip
"""Requests of 30 and 18 tokens take two blocks each."""
ON_CPU = run(
    request((1.0, 4.0), (2, 6)),
    resources=ResourceWindow(cpu_s=6.0, processors=2, rss_bytes=2**31, gpus=0, foreign_cpu=0.25, clock_jump_s=-0.75),
)
"""Eight tokens in 4 s."""
ON_GPUS = run(
    request((1.0, 4.0), (2, 6)),
    resources=ResourceWindow(rss_bytes=2**31, gpus=2, gpu_bytes=2**32, gpu_energy_j=400.0),
)

CASES = [
    ("completed", TWO, 2),
    ("failed", TWO, 1),
    ("failed", run(request((0.1,), (1,))), 0),
    ("failures", TWO, {"timeout": 1}),
    (
        "failures",
        run(*(request(error=e) for e in ("http 503: busy", "http 503: full", "stream error: x", "reset: X: y", ""))),
        {"http 503": 2, "reset": 1, "stream error": 1, "unknown": 1},
    ),
    ("duration", TWO, 2.0),
    ("total_input_tokens", TWO, 30),
    ("total_output_tokens", TWO, 6),
    ("input_len_mean", TWO, 15.0),
    ("output_len_mean", TWO, 3.0),
    ("request_throughput", TWO, 1.0),
    ("output_throughput", TWO, 3.0),
    ("total_token_throughput", TWO, 18.0),
    # 2 s: two windows of 1 s. Tokens at 0.1, 0.2, 0.3, 0.5: all six in one window.
    ("max_output_tokens_per_s", TWO, 6.0),
    # A run of 0.4 s is one window: 12 tokens / 0.4 s, as on average. By whole seconds it would be 12.
    ("max_output_tokens_per_s", run(request((0.1, 0.2, 0.4), (4, 4, 4))), 30.0),
    # 3.5 s: windows of 3.5 / 3 s. The busiest begins at 2.0 and holds 2 + 5 tokens: 7 / 1.1667.
    ("max_output_tokens_per_s", run(request((0.5, 2.0, 3.1, 3.5), (1, 2, 5, 1))), 6.0),
    ("request_goodput", replace(TWO, slo=Slo(ttft_ms=200)), 0.5),
    ("goodput_share", replace(TWO, slo=Slo(ttft_ms=200)), 1 / 3),
    ("total_asked_tokens", TWO, 10),
    ("output_shortfall", TWO, 0.4),
    ("short_answers", TWO, 1),
    ("short_answers", replace(TWO, ignore_eos=True), 2),
    ("ttft", TWO, {"mean_ttft_ms": 200.0, "median_ttft_ms": 200.0, "std_ttft_ms": 100.0, "p95_ttft_ms": None}),
    ("ttft", run(request((1.5,), (1,), scheduled_s=1.0, sent_s=1.2)), {"mean_ttft_ms": 500.0}),
    # Of 100 values numpy puts p95 at rank 95.05 and p99 at 99.01. The median's interval is the 40th and the 61st.
    (
        "ttft",
        IN_TWENTIES,
        {
            "median_ttft_ms": 505.0, "median_ttft_ms_low": 400.0, "median_ttft_ms_high": 610.0,
            "p95_ttft_ms": 950.5, "p95_ttft_ms_low": 900.0, "p95_ttft_ms_high": 1000.0,
            "p99_ttft_ms": 990.1, "p99_ttft_ms_low": None, "p99_ttft_ms_high": None,
        },
    ),
    # 12 tokens in 3 chunks of 4, 40 ms apart: 10 ms per token, 40 per chunk.
    ("tpot", run(request((0.10, 0.14, 0.18), (4, 4, 4))), {"mean_tpot_ms": 10.0, "std_tpot_ms": 0.0}),
    ("tpot", TWO, {"mean_tpot_ms": (100 + 200 / 3) / 2, "p95_tpot_ms": None}),
    # Asked for 100, got 10: what came counts.
    ("tpot", run(request([0.1 + 0.02 * i for i in range(10)], [1] * 10, max_tokens=100)), {"mean_tpot_ms": 20.0}),
    ("tpot", run(request((0.1,), (5,))), {"mean_tpot_ms": None}),
    ("tpot", run(request((0.1, 0.4), (), completion_tokens=4)), {"mean_tpot_ms": 100.0}),
    ("itl", run(request((0.10, 0.14, 0.18), (4, 4, 4))), {"mean_itl_ms": 10.0, "median_itl_ms_low": None}),
    ("itl", run(request((0.1, 0.2, 0.5), (1, 1, 3))), {"mean_itl_ms": 100.0, "median_itl_ms": 100.0}),
    ("icl", run(request((0.1, 0.2, 0.5), (1, 1, 3))), {"mean_icl_ms": 200.0, "std_icl_ms": 100.0}),
    ("e2el", TWO, {"mean_e2el_ms": 350.0, "median_e2el_ms": 350.0, "std_e2el_ms": 150.0}),
    ("client_queue", run(request((3.0,), (1,), scheduled_s=1.0, released_s=1.5)), {"mean_client_queue_ms": 500.0}),
    ("send_lag", run(request((3.0,), (1,), released_s=1.5, sent_s=1.504)), {"mean_send_lag_ms": 4.0}),
    # Steps: max(5 chunks, 9 - 3 tokens) and max(2 chunks, 4 - 3 tokens); vLLM may accept past a stop.
    ("tokens_per_step", VARIABLE, 13 / 8),
    ("tokens_per_step", run(request((0.1, 0.2, 0.3), (1, 1, 1))), 1.0),
    ("tokens_per_step", run(request((0.1, 0.2), (4, 4))), 1.0),
    ("tokens_per_step", run(speculated(4, 2, [(6, 8)])), 2.0),
    # Pooled: (3 kept in 1 round) and (2 in 4): 1 + 5 / 5, not the mean of 4 and 1.5.
    ("spec_decode_acceptance_length", UNEVEN, 2.0),
    ("spec_decode_acceptance_length", run(speculated(4, 4, [])), None),
    ("spec_decode_acceptance_rate", VARIABLE, 75.0),
    ("spec_decode_acceptance_rate", run(speculated(4, 4, [])), None),
    ("spec_decode_num_drafts", VARIABLE, 4),
    ("spec_decode_draft_tokens", VARIABLE, 8),
    ("spec_decode_accepted_tokens", VARIABLE, 6),
    ("spec_decode_per_position_acceptance_rates", VARIABLE, [0.75, 0.5, 0.25]),
    ("spec_decode_per_position_acceptance_rates", run(speculated(4, 4, [])), None),
    # Four rounds drafted one token, two of them three.
    ("unconditional_acceptance_rates", VARIABLE, [0.75, 1.0, 0.5]),
    ("conditional_acceptance_rates", VARIABLE, [0.75, 1.0, 0.5]),
    # One round of two keeps its first draft; of the second draft only the round that kept the first says something.
    ("unconditional_acceptance_rates", run(speculated(3, 3, [(0, 3), (1, 3)])), [0.5, 0.0, 0.0]),
    ("conditional_acceptance_rates", run(speculated(3, 3, [(0, 3), (1, 3)])), [0.5, 0.0, None]),
    ("accepted_per_round", VARIABLE, {0: 1, 1: 1, 2: 1, 3: 1}),
    ("accepted_per_round", run(speculated(4, 2, [(2, 2), (0, 1)])), {0: 1, 1: 0, 2: 1}),
    # 1 + 3/3 and 1 + 3/1.
    (
        "request_acceptance_length",
        VARIABLE,
        {"mean_request_acceptance_length": 3.0, "std_request_acceptance_length": 1.0},
    ),
    ("draft_round_share", VARIABLE, 0.5),
    ("inconsistent_requests", VARIABLE, 0),
    ("engine_steps", counted(engine_steps=211.0), 211),
    ("verify_steps", counted(verify_steps=50.0), 50),
    ("step_draft_s", counted(draft_s=1.5), 1.5),
    ("step_rule_s", counted(rule_s=1.5), 1.5),
    ("step_verify_pass_s", counted(verifying_s=1.5), 1.5),
    ("step_decode_pass_s", counted(decoding_s=1.5), 1.5),
    ("step_prompt_pass_s", counted(prompts_s=1.5), 1.5),
    ("step_other_s", counted(other_s=1.5), 1.5),
    ("step_draft_share", counted(**STEPS), 0.125),
    ("step_rule_share", counted(**STEPS), 0.0625),
    ("step_verify_pass_share", counted(**STEPS), 0.5),
    ("step_decode_pass_share", counted(**STEPS), 0.1875),
    ("step_prompt_pass_share", counted(**STEPS), 0.0625),
    ("step_other_share", counted(**STEPS), 0.0625),
    ("verify_pass_ms", counted(verifying_s=4.0, verifying_passes=50.0), 80.0),
    ("decode_pass_ms", counted(decoding_s=2.0, decoding_passes=50.0), 40.0),
    ("server_queue_ms", counted(**PHASES), 250.0),
    ("queue_share", counted(**PHASES), 0.1),
    ("prefill_share", counted(**PHASES), 0.3),
    ("decode_share", counted(**PHASES), 0.6),
    ("drafts", counted(drafts=30.0), 30),
    ("draft_tokens", counted(draft_tokens=60.0), 60),
    ("accepted_tokens", counted(accepted_tokens=26.0), 26),
    ("batch_size_mean", SERVED, 3.0),
    ("batch_size_p95", SERVED, 3.9),
    ("queue_depth_mean", SERVED, 2.0),
    ("queue_depth_max", SERVED, 9),
    ("kv_cache_usage_mean", SERVED, 0.5),
    ("kv_cache_usage_max", SERVED, 0.9),
    ("kv_cache_tokens", CACHE, 160),
    ("max_feasible_batch", CACHE, 5),
    ("preemptions", counted(preemptions=2.0), 2),
    ("prefix_cache_queries", counted(prefix_cache_queries=80.0), 80),
    ("prefix_cache_hits", counted(prefix_cache_hits=20.0), 20),
    ("prefix_cache_hit_share", counted(prefix_cache_queries=80.0, prefix_cache_hits=20.0), 0.25),
    ("prefix_cache_hit_share", counted(prefix_cache_queries=0.0, prefix_cache_hits=0.0), None),
    ("fallbacks", counted(target_only_s=1.0, fallbacks__raised=2.0, fallbacks__stalled=0.0), {"raised": 2}),
    ("fallbacks", counted(target_only_s=0.0), {}),
    ("target_only_s", counted(target_only_s=1.5), 1.5),
    ("target_only_share", counted(request((4.0,), (1,)), target_only_s=1.0), 0.25),
    ("server_rss_bytes", ON_CPU, 2**31),
    ("server_cpu_s", ON_CPU, 6.0),
    ("server_cpu_utilisation", ON_CPU, 0.75),
    ("foreign_cpu", ON_CPU, 0.25),
    ("clock_jump_s", ON_CPU, -0.75),
    ("gpu_memory_bytes", ON_GPUS, 2**32),
    ("gpu_energy_j", ON_GPUS, 400.0),
    ("energy_per_token_j", ON_GPUS, 50.0),
    ("committed_tokens_per_device_second", ON_CPU, 2.0),
    ("committed_tokens_per_device_second", ON_GPUS, 1.0),
    ("committed_tokens_per_gib", ON_CPU, 1.0),
    ("committed_tokens_per_gib", ON_GPUS, 0.5),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "value"), CASES, ids=[f"{i}-{name}" for i, (name, _, _) in enumerate(CASES)])
def test_a_metric_is_what_was_worked_out_by_hand(name, data, value):
    (metric,) = (metric for metric in METRICS if metric.name == name)
    values = metric.values(data)
    expected = value if isinstance(value, dict) and not metric.structured else {name: value}
    for key, number in expected.items():
        assert values[key] == (number if isinstance(number, dict) else pytest.approx(number)), key


def test_every_metric_has_a_case():
    assert [metric.name for metric in METRICS] == list(dict.fromkeys(name for name, _, _ in CASES))


def test_a_metric_is_declared_once_and_says_what_it_is():
    keys = [key for metric in METRICS for key in metric.values(run())]
    assert len(keys) == len(set(keys))
    for metric in METRICS:
        assert metric.formula.endswith(".")
        assert metric.needs
        assert metric.better in ("higher", "lower", None)


REQUEST_INPUTS = {
    "usage": {"prompt_tokens": None, "completion_tokens": None, "chunk_tokens": []},
    "chunks": {"chunk_tokens": []},
    "rounds": {"num_spec_steps": None, "num_draft_tokens": None, "num_accepted_tokens": None},
    "steps": {"accepted_per_step": None, "drafted_per_step": None},
    "asked": {"max_tokens": None},
}
PLUGIN = {*STEPS, "verify_steps", "target_only_s", "fallbacks.raised", "fallbacks.stalled"}


def without(data: RunData, source: str) -> RunData:
    """The same run, had this source not been there."""
    if source in REQUEST_INPUTS:
        runs = [[replace(record, **REQUEST_INPUTS[source]) for record in records] for records in data.runs]
        return replace(data, runs=tuple(runs))
    if source == "requests":
        return replace(data, runs=tuple([replace(record, error="reset: x") for record in r] for r in data.runs))
    gains = {name: gain for name, gain in data.server.gains.items() if (name in PLUGIN) == (source == "server")}
    gone = {
        "slo": {"slo": None},
        "plugin": {"server": replace(data.server, gains=gains)},
        "server": {"server": ServerWindow(gains)},
        "machine": {"resources": ResourceWindow()},
        "gpu": {"resources": replace(data.resources, gpu_bytes=None, gpu_energy_j=None)},
    }
    return replace(data, **gone[source])


COUNTED_ANYWAY = ("completed", "failed", "failures", "duration")


@pytest.mark.parametrize("source", SOURCES)
def test_without_an_input_a_metric_is_none_never_zero(source):
    asked = [(m, d) for m in METRICS for name, d, _ in CASES if name == m.name and source in m.needs]
    asked = [(metric, data) for metric, data in asked if metric.name not in COUNTED_ANYWAY]
    assert asked
    for metric, data in asked:
        assert set(metric.values(without(data, source)).values()) == {None}, metric.name


def test_nothing_observed_is_none_everywhere_but_in_the_counts():
    measures = measure(run())
    assert {key: value for key, value in measures.items() if value is not None} == {
        "completed": 0, "failed": 0, "failures": {}, "duration": 0, "too_few_for": [],
    }  # fmt: skip


def test_a_run_in_which_all_failed_has_counts_and_no_measures():
    measures = measure(run(*[request(end=1.0, error="refused: x", completion_tokens=None)] * 3, slo=Slo(ttft_ms=1)))
    assert {key: value for key, value in measures.items() if value is not None} == {
        "completed": 0, "failed": 3, "failures": {"refused": 3}, "duration": 1.0, "too_few_for": [],
    }  # fmt: skip


def test_counts_that_contradict_each_other_are_noticed():
    more_kept_than_made = speculated(4, 2, [(2, 1)])
    a_round_is_missing = replace(speculated(4, 2, [(1, 1), (1, 2)]), num_spec_steps=3)
    sums_differ = replace(speculated(4, 2, [(1, 1), (1, 2)]), num_draft_tokens=4)
    data = run(speculated(4, 2, [(1, 1)]), more_kept_than_made, a_round_is_missing, sums_differ)
    assert measure(data)["inconsistent_requests"] == 3


def test_rounds_that_one_request_does_not_list_are_known_for_none():
    data = run(speculated(4, 2, [(1, 1)]), replace(speculated(4, 2, [(1, 1)]), accepted_per_step=None))
    measures = measure(data)
    assert measures["accepted_per_round"] is None
    assert measures["spec_decode_acceptance_length"] == 2.0


def test_the_peak_is_never_below_the_average():
    for seconds in (0.3, 0.99, 1.0, 1.01, 2.5, 7.77):
        for chunks in (1, 2, 7, 23):
            times = [seconds * (i + 1) / chunks for i in range(chunks)]
            measures = measure(run(request(times, [3] * chunks)))
            assert measures["max_output_tokens_per_s"] >= measures["output_throughput"]


def test_p95_of_gaps_needs_twenty_requests_not_twenty_gaps():
    few = [request([0.01 * i for i in range(1, 31)], [1] * 30) for _ in range(19)]
    assert measure(run(*few))["p95_itl_ms"] is None
    assert measure(run(*few, few[0]))["p95_itl_ms"] == pytest.approx(10)


def test_percentiles_of_too_few_requests_are_named():
    """TTFT was seen, in too few requests; time per token was not seen at all."""
    measures = measure(run(*[request((0.1,), (1,))] * 19))
    assert {"p95_ttft_ms", "p99_ttft_ms"} <= set(measures["too_few_for"])
    assert "p95_tpot_ms" not in measures["too_few_for"]
    assert "p95_ttft_ms" not in measure(run(*[request((0.1,), (1,))] * 20))["too_few_for"]


def test_percentiles_can_be_chosen():
    measures = measure(IN_TWENTIES, percentiles=(25, 90, 99.9))
    assert measures["p25_ttft_ms"] == pytest.approx(257.5)
    assert measures["p90_ttft_ms"] == pytest.approx(901.0)
    assert measures["p99.9_ttft_ms"] is None
    assert "p99.9_ttft_ms" in measures["too_few_for"]
    assert "p95_ttft_ms" not in measures
