"""The documentation builds without a warning: no broken link, no page left out."""

import shutil
import subprocess
import sys

import pytest

from tests.docs.pages import DOCS, PAGES, ROOT, name_of
from verispec_bench.measure.registry import METRICS


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    path = tmp_path_factory.mktemp("docs")
    shutil.copy(ROOT / "mkdocs.yml", path)
    for name in ("docs", "plugin", "harness"):
        shutil.copytree(ROOT / name, path / name)
    for command in (["docs/reference_pages.py"], ["-m", "zensical", "build", "--strict"]):
        done = subprocess.run(
            [sys.executable, *command], cwd=path, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return path / "site"


def test_every_page_is_there(site):
    for page in PAGES:
        name = name_of(page).removesuffix(".md")
        assert (site / ("index.html" if name == "index" else f"{name}/index.html")).is_file(), name


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("cli", ["--min-speedup", "mock-server", "--reference"]),
        ("scenario", ["requests_per_stream", "max_model_len", "min_drafted"]),
        ("settings", ["max_slowdown", "cooldown_s", "Default: <code>0.1</code>", 'Default: <code>"suffix"</code>']),
        ("counters", ["accepted_per_position", "committed_tokens", "offered_tokens", 'Counters.decode_seconds"']),
    ],
)
def test_the_reference_is_made_from_the_code(site, page, said):
    text = (site / "reference" / page / "index.html").read_text(encoding="utf-8")
    assert [each for each in said if each not in text] == []


def test_every_metric_is_explained(site):
    text = (site / "reference" / "metrics" / "index.html").read_text(encoding="utf-8")
    assert [metric.name for metric in METRICS if f"<code>{metric.name}</code>" not in text] == []


def test_nothing_is_fetched_from_elsewhere(site):
    text = (site / "index.html").read_text(encoding="utf-8")
    assert "fonts.googleapis" not in text
    assert 'src="http' not in text


def test_the_example_of_a_drafter_is_the_one_that_is_tested():
    page = (DOCS / "how-to" / "own-drafter.md").read_text(encoding="utf-8")
    assert (ROOT / "examples" / "bigram_drafter.py").read_text(encoding="utf-8") in page
