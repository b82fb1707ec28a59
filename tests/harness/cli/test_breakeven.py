"""The verb says what the model says, and its exit code is the answer."""

import json

import pytest

from tests.harness.sweep.test_sweep import verispec
from verispec_bench.speedmodel.presets import worked_presets

ASSISTANT = ["--alpha=.78", "--gamma=4", "--target-ms=20", "--draft-ms=1", "--verify-ms=21", "--overhead-ms=1.5"]
CONTROL = ["--alpha=.55", "--gamma=4", "--target-ms=4.5", "--draft-ms=.9", "--verify-ms=9.5", "--overhead-ms=1"]


def test_a_win_and_a_loss_differ_in_the_exit_code():
    wins = verispec("breakeven", *ASSISTANT, "--prefill-ms", "420", "--tokens", "160")
    assert wins.returncode == 0
    assert "2.44  (wins)" in wins.stdout
    assert "3.62 s → 1.73 s: 2.09" in wins.stdout
    loses = verispec("breakeven", *CONTROL, "--json")
    assert loses.returncode == 1
    assert json.loads(loses.stdout)["speedup"] == pytest.approx(0.67, abs=5e-3)


def test_measured_survival_stands_in_the_place_of_alpha():
    """1 + .8 + .6 + .2 = 2.6 tokens in a round of 1.5 + 21 + 1.5 ms, against one in 20; four requests side by side."""
    result = verispec("breakeven", "--survival=.8,.6,.2", "--batch=4", *ASSISTANT[2:], "--draft-ms=.5", "--json")
    found = json.loads(result.stdout)
    assert found["expected_tokens"] == pytest.approx(2.6)
    assert found["round_ms"] == pytest.approx(1.5 + 21 + 1.5)
    assert found["speedup"] == pytest.approx(20 * 2.6 / 24)
    assert found["tokens_per_s"] == pytest.approx(4 * 2.6 / 0.024)
    assert found["target_only_tokens_per_s"] == pytest.approx(200)


@pytest.mark.parametrize(
    ("survival", "further", "said"),
    [
        (".8,x", [], "are no numbers with commas between"),
        (".6,.8", [], "each is a share of those before it"),
        (".8,.6", ["--gamma", "2"], "leave them out"),
    ],
)
def test_survival_that_is_none_is_refused(survival, further, said):
    result = verispec("breakeven", f"--survival={survival}", *further, *ASSISTANT[2:])
    assert result.returncode == 2
    assert said in " ".join(result.stderr.split())


def test_the_page_is_written_with_and_without_a_setting(tmp_path):
    for name, setting in (("own.html", ASSISTANT), ("worked.html", [])):
        result = verispec("breakeven", *setting, "--html", tmp_path / name)
        assert result.returncode == 0
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert ("as asked for" in text) == bool(setting)
        assert all(preset["name"] in text for preset in worked_presets())


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (["--target-ms", "0"], "--target-ms 0: a step of the target takes some time"),
        (["--draft-ms", "0", "--verify-ms", "0", "--overhead-ms", "0"], "are all 0: a round takes some time"),
        (["--verify-ms", "inf"], "a cost or a chance is no finite number"),
        (["--tokens", "10"], "--prefill-ms and --tokens belong together"),
        (["--from", "results/reference"], "--from is for the page"),
        (["--html", "/tmp/page.html", "--from", "no/such"], "no usable summary.json"),
    ],
)
def test_nonsense_is_refused_in_a_line(changed, said):
    result = verispec("breakeven", *ASSISTANT, *changed)
    assert result.returncode == 2
    assert said in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
