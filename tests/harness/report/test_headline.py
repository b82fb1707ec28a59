"""The verdict in a sentence counts what the intervals say."""

from tests.harness.report.test_report import comparison, summary
from verispec_bench.report.headline import headlines


def test_a_sentence_counts_wins_and_losses():
    cells = [comparison(1.5, 1.2, 1.8), comparison(2.0, 1.8, 2.2), comparison(0.7, 0.6, 0.8, p95_tpot_ratio=1.4),
             comparison(1.0, 0.9, 1.1)]  # fmt: skip
    assert headlines(summary(*cells)) == [
        "x against target-only, 4 cells: wins in 2 (1.50 to 2.00), even in 1 (1.00), loses in 1 (0.70); "
        "p95 TPOT is more than 1.03 times the baseline's in 1."
    ]


def test_each_arm_and_baseline_has_its_own():
    lines = headlines(
        summary(comparison(), comparison(arm="y", valid=False), comparison(baseline="deployment-default"))
    )
    assert [line.partition(",")[0] for line in lines] == [
        "x against target-only", "y against target-only", "x against deployment-default",
    ]  # fmt: skip
    assert "invalid in 1" in lines[1]


def test_nothing_compared_is_nothing_said():
    assert headlines(summary()) == []
