"""The published figures come out of the published traces, where these are at hand: VERISPEC_ACCEPTANCE_TRACES=DIR."""

import os
from pathlib import Path

import pytest

from verispec_bench.speedmodel.replay import ALL_BILLS, OWN_BILL, PUBLISHED, gap_recovered, read_traces, replay

DIRECTORY = os.environ.get("VERISPEC_ACCEPTANCE_TRACES")
pytestmark = pytest.mark.skipif(not DIRECTORY, reason="VERISPEC_ACCEPTANCE_TRACES names no directory")


@pytest.fixture(scope="module")
def results():
    names = ("instructcoder", "cnn", "gsm8k", "sharegpt")
    return replay({name: read_traces(Path(DIRECTORY) / f"{name}.jsonl.gz", 300) for name in names}, PUBLISHED, [1, 128])


@pytest.mark.parametrize(
    ("policy", "batch", "published"),
    [
        ("ngram", 1, 2.73),
        ("eagle", 1, 2.73),
        ("longest, ngram's bill", 1, 4.89),
        (OWN_BILL, 1, 4.41),
        (ALL_BILLS, 1, 3.91),
        ("ngram", 128, 1.52),
        ("eagle", 128, 1.61),
        ("longest, ngram's bill", 128, 1.87),
    ],
)
def test_an_oracle_comes_out_as_published(results, policy, batch, published):
    [found] = [
        r.speedup for r in results
        if (r.traces, r.policy, r.batch, r.batches) == ("instructcoder", policy, batch, "identical")
    ]  # fmt: skip
    assert found == pytest.approx(published, rel=0.03)


def test_a_causal_choice_goes_more_than_half_of_the_way(results):
    """Over the four data sets, each judged by what was learned from the other three."""
    of = {name: [r for r in results if r.traces == name and r.batch == 1] for name in {r.traces for r in results}}
    assert sum(gap_recovered(of_file) > 0.5 for of_file in of.values()) >= 3
    assert sum(gap_recovered(of_file) for of_file in of.values()) / len(of) > 0.5
