"""The page works from a file: its scripts run without complaint, and compute what Python does."""

import re

from tests.harness.report.browser import needs_browser, opened
from verispec_bench.report.break_even import write_break_even
from verispec_bench.speedmodel import WORKED, break_even
from verispec_bench.speedmodel.presets import worked_presets


@needs_browser
def test_the_worked_scenarios_come_out_as_in_python(tmp_path):
    presets = worked_presets()
    for name, preset in zip(WORKED, presets, strict=True):
        found = break_even(WORKED[name].costs, WORKED[name].alpha, WORKED[name].request)
        page, complaints = opened(write_break_even(tmp_path / f"{name}.html", [preset, *presets]))
        assert complaints == []
        assert 'data-ready="true"' in page
        assert f"{found['speedup']:.2f}× — speculation {'wins' if found['speedup'] > 1 else 'loses'}" in page
        assert f"{found['expected_tokens']:.3f} tokens in a round of {found['round_ms']:.1f} ms" in page
        assert f"α = {found['break_even_alpha']:.2f}, or V = {found['break_even_verify_ms']:.1f} ms" in page
        assert f"γ = {found['best_gamma']}: {found['best_gamma_speedup']:.2f}×" in page
        assert page.count("<svg") == 3
        assert page.count("<polyline") == 3
    assert "3.62 s → 1.73 s: 2.09×" in opened(tmp_path / "code_assistant.html")[0]


@needs_browser
def test_a_setting_in_the_address_is_taken(tmp_path):
    page = write_break_even(tmp_path / "page.html", worked_presets())
    costs = "target_ms=10&draft_ms=0&verify_ms=10&overhead_ms=0&batch=1"
    setting = f"#alpha=0.5&gamma=2&{costs}&queue_ms=5&prefill_ms=0&tokens=10"
    opened_page = opened(page, setting)[0]
    assert "1.75× — speculation wins" in opened_page
    assert "105 ms → 62 ms" in opened_page  # the wait is in both


@needs_browser
def test_sliders_and_presets_change_what_is_shown(tmp_path):
    """As a hand does: the other preset is chosen, then α is moved."""
    assistant, control = worked_presets()
    page = write_break_even(tmp_path / "page.html", [assistant, control])
    moves = """
      const preset = document.getElementById("preset");
      const slider = document.querySelector("input[type=range][data-key=alpha]");
      preset.value = "1"; preset.dispatchEvent(new Event("change"));
      const chosen = document.getElementById("speedup").textContent;
      slider.value = "1"; slider.dispatchEvent(new Event("input", { bubbles: true }));
      document.body.dataset.chosen = chosen;
    """
    page.write_text(
        page.read_text(encoding="utf-8").replace("</html>", f"<script>{moves}</script></html>"), encoding="utf-8"
    )
    shown, complaints = opened(page)
    assert complaints == []
    costs, request = WORKED["negative_control"].costs, WORKED["negative_control"].request
    before, after = (break_even(costs, alpha, request)["speedup"] for alpha in (WORKED["negative_control"].alpha, 1.0))
    assert f'data-chosen="{before:.2f}× — speculation loses"' in shown
    assert f"{after:.2f}× — speculation {'wins' if after > 1 else 'loses'}" in shown
    assert shown.count("<svg") == 3


@needs_browser
def test_a_pass_over_drafts_that_was_faster_than_without_makes_no_wild_curve(tmp_path):
    page = write_break_even(tmp_path / "page.html", worked_presets())
    costs = "target_ms=69&draft_ms=0&verify_ms=62&overhead_ms=0&batch=7"
    shown = opened(page, f"#alpha=0.5&gamma=3&{costs}&queue_ms=0&prefill_ms=0&tokens=10")[0]
    by_batch = re.findall(r'<polyline[^>]*points="([^"]*)"', shown)[2]
    assert len({point.split(",")[1] for point in by_batch.split()}) == 1


def test_nothing_is_fetched_from_elsewhere(tmp_path):
    text = write_break_even(tmp_path / "page.html", worked_presets()).read_text(encoding="utf-8")
    assert text.count("http") == text.count("http://www.w3.org/2000/svg")
    assert "src=" not in text
