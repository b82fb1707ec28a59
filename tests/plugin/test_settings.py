"""The plugin's settings, as vLLM hands them over."""

import pytest

from verispec.settings import Settings, disabled


def test_defaults_where_the_section_is_missing():
    assert Settings.from_additional_config({}) == Settings(drafter="suffix", rule="token")
    assert Settings.from_additional_config(None) == Settings()


def test_reads_its_section_only():
    assert Settings.from_additional_config({"other": 1, "verispec": {"drafter": "my.Drafter"}}).drafter == "my.Drafter"


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({"druffter": "suffix"}, "--additional-config: verispec.druffter"),
        ({"rule": "blok"}, "--additional-config: verispec.rule"),
        ({"drafter_options": 3}, "--additional-config: verispec.drafter_options"),
        ("suffix", "--additional-config: verispec"),
    ],
)
def test_unusable_settings_are_refused_by_key(section, message):
    with pytest.raises(ValueError, match=message) as refusal:
        Settings.from_additional_config({"verispec": section})
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(("value", "expected"), [("1", True), ("yes", True), ("0", False), ("", False), (None, False)])
def test_kill_switch(monkeypatch, value, expected):
    monkeypatch.delenv("VERISPEC_DISABLE", raising=False)
    if value is not None:
        monkeypatch.setenv("VERISPEC_DISABLE", value)
    assert disabled() is expected
