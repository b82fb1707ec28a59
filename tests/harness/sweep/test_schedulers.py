"""Two loads of the same prompts: acceptance must agree before their verdicts may be set side by side."""

import pytest

from verispec_bench.client import RequestRecord
from verispec_bench.sweep.schedulers import two_schedulers


def comparison(concurrency, speedup, arm="n-gram"):
    return {
        "cell": f"c{concurrency}", "arm": arm, "baseline": "target-only", "workload": "chat", "input_len": None,
        "output_len": 96, "temperature": 0, "max_num_seqs": 16, "dtype": "auto", "concurrency": concurrency,
        "speedup": speedup,
        "speedup_low": 0.9 * speedup, "speedup_high": 1.1 * speedup, "acceptance_rate": 50.0,
        "valid": True, "reasons": [],
    }  # fmt: skip


def setting(accepted_at_16: int, concurrencies=(1, 4, 16)):
    """Comparisons, blocks and records of 4 blocks of 5 prompts, 10 drafts each, 5 kept at light loads."""
    comparisons = [comparison(c, 2.0 / c) for c in concurrencies]
    blocks = {f"c{c}": [{"n-gram": {"run": f"c{c}/{b}", "block": b}} for b in range(4)] for c in concurrencies}
    records = {
        f"c{c}/{b}": [
            RequestRecord(f"p{i}", 0.0, num_draft_tokens=10, num_accepted_tokens=(accepted_at_16 if c == 16 else 5))
            for i in range(5)
        ]
        for c in concurrencies
        for b in range(4)
    }
    return comparisons, blocks, records


def test_the_lightest_and_the_heaviest_load_are_set_side_by_side():
    comparisons, blocks, records = setting(5)
    (pair,) = two_schedulers(comparisons, blocks, records)
    assert (pair["loads"], pair["speedups"]) == ([1, 16], [2.0, 0.125])
    assert pair["acceptance_ratio"] == pytest.approx(1.0)
    assert pair["acceptance_agrees"] is True
    assert all(c["valid"] for c in comparisons)


def test_acceptance_that_differs_makes_both_cells_invalid():
    comparisons, blocks, records = setting(3)
    (pair,) = two_schedulers(comparisons, blocks, records)
    assert pair["acceptance_agrees"] is False
    assert [c["valid"] for c in comparisons] == [False, True, False]
    assert comparisons[0]["reasons"] == ["acceptance differs between the loads: this is not one drafter"]


def test_one_load_makes_no_pair():
    assert two_schedulers(*setting(5, concurrencies=(4,))) == []


def test_prompts_are_paired_by_what_they_are_not_by_their_place():
    """The heavy load's second block was measured again with other prompts: it pairs with nothing."""
    comparisons, blocks, records = setting(5)
    for i, record in enumerate(records["c16/1"]):
        record.prompt_id, record.num_accepted_tokens = f"other{i}", 0
    (pair,) = two_schedulers(comparisons, blocks, records)
    assert pair["acceptance_ratio"] == pytest.approx(1.0)


def test_the_verdict_against_another_baseline_falls_with_it():
    comparisons, blocks, records = setting(3)
    comparisons.append(comparison(16, 0.5) | {"baseline": "deployment-default", "reasons": []})
    two_schedulers(comparisons, blocks, records)
    assert comparisons[-1]["valid"] is False
