"""What a sweep found beside its comparisons, in words."""

from verispec_bench.report.findings import finding_lines


def test_what_was_not_measured_is_not_said():
    assert finding_lines({"comparisons": []}) == []
    assert finding_lines({"comparisons": [], "control": None, "two_schedulers": None, "slo": None}) == []


def test_both_kinds_of_speedup_are_told_apart():
    lines = finding_lines({"comparisons": [{"speedup_kind": "output_throughput"}, {"speedup_kind": "mean_e2el"}]})
    assert lines == [
        "speedup: output tokens per second, the arm's over the baseline's (closed loop)",
        "speedup: mean end-to-end latency, the baseline's over the arm's (open loop)",
    ]


def test_control_schedulers_and_searches_have_a_line_each():
    control = {"cells": 40, "covered": 39, "share": 0.975, "share_low": 0.868, "share_high": 0.999, "furthest": 1.02}
    pair = {
        "workload": "chat", "arm": "x", "loads": [1, 16], "speedups": [1.5, 0.7],
        "speedups_low": [1.4, 0.6], "speedups_high": [1.6, None], "acceptance_agrees": True,
        "acceptance_ratio": 1.0, "acceptance_ratio_low": 0.98, "acceptance_ratio_high": 1.03,
    }  # fmt: skip
    probes = [{"request_rate": 1.4, "good_share": 0.2}]
    none = {"workload": "chat", "slo_rate_ratio": None, "probes": probes, "reasons": []}
    slo = [
        none | {"arm": "target-only", "slo_rate": None, "slo_rate_above": 1.4},
        none | {"arm": "x", "slo_rate": 4.2, "slo_rate_above": 5.9, "slo_rate_ratio": 1.5},
        none | {"arm": "y", "slo_rate": 8.0, "slo_rate_above": None, "reasons": ["a stranger"]},
    ]
    summary = {"comparisons": [], "control": control, "two_schedulers": [pair], "slo": slo}
    assert finding_lines(summary) == [
        "control (A/A): the interval held 1 in 39 of 40 cells (98%, 95% interval 87% to 100%); furthest from 1: 1.020",
        "two schedulers, chat, x: speedup at c=1 1.50 [1.40, 1.60], at c=16 0.70 [0.60, n/a]; "
        "acceptance agrees: ratio 1.000 [0.980, 1.030]",
        "within the goodput, chat, target-only: less than 1.4/s",
        "within the goodput, chat, x: at least 4.2/s, less than 5.9/s, 1.50 times the baseline's",
        "within the goodput, chat, y: at least 8/s (not to be believed: a stranger)",
    ]
