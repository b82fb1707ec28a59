"""report.html is whole by itself: all figures are in it, and a browser has nothing to complain of."""

import json
import re
from pathlib import Path

import pytest

from tests.harness.report.browser import needs_browser, opened
from verispec_bench.labels import where
from verispec_bench.report.figures import FIGURES, SAYS, draw_figures
from verispec_bench.report.page import write_page

REFERENCE = Path(__file__).parents[3] / "results" / "reference"


def reference():
    return (json.loads((REFERENCE / f"{name}.json").read_text()) for name in ("manifest", "summary"))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    directory = tmp_path_factory.mktemp("report")
    manifest, summary = reference()
    return write_page(directory, manifest, summary, draw_figures(summary, directory / "figures"))


def test_nothing_is_fetched_from_elsewhere(page):
    text = page.read_text(encoding="utf-8")
    assert not re.findall(r'(?:src|href)="(?!data:)', text)
    assert "@import" not in text
    assert "url(" not in text


def test_what_speaks_against_a_cell_and_what_warns_of_it_is_said(tmp_path):
    manifest, summary = reference()
    first, second = summary["comparisons"][:2]
    first |= {"valid": False, "reasons": ["4 requests failed"]}
    second |= {"warnings": ["the load client was the bottleneck in some runs"]}
    text = write_page(tmp_path, manifest, summary, []).read_text(encoding="utf-8")
    assert re.findall(r'<p class="invalid">(.*)</p>', text) == [
        f"{where(first, [first, second])} is invalid: 4 requests failed."
    ]
    assert re.findall(r'<p class="warning">(.*)</p>', text) == [
        f"{where(second, [first, second])}, a warning: the load client was the bottleneck in some runs."
    ]


def test_every_figure_has_words_for_those_who_do_not_see_it():
    assert SAYS.keys() == FIGURES.keys()


@needs_browser
def test_a_browser_shows_all_of_it_without_complaint(page):
    shown, complaints = opened(page)
    assert complaints == []
    assert shown.count("<img") == len(list((page.parent / "figures").glob("*.png"))) > 4
    for heading in ("Speculation against target-only", "Figures", "Each arm", "What was run"):
        assert f"<h2>{heading}</h2>" in shown
