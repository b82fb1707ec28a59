"""The texts of the standard library are found, and where they say."""

import sysconfig
from pathlib import Path

import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.workload.standard_library import MIN_CHARS, sections, windows


@pytest.mark.parametrize("kind", ["code", "prose"])
def test_sections_are_long_enough_and_each_has_its_own_id(kind):
    found = sections(kind)
    assert min(len(section.text) for section in found) >= MIN_CHARS
    assert len({section.id for section in found}) == len(found) >= 2000


def test_a_section_stands_where_its_id_says():
    root = Path(sysconfig.get_paths()["stdlib"])
    for kind in ("code", "prose"):
        for section in [s for s in sections(kind) if ":" in s.id][::97]:
            module, _, line = section.id.partition(":")
            at = (root / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8").split("\n")[int(line) - 1 :]
            assert section.text.split("\n")[0] in "\n".join(at[:5])


def test_windows_run_on_over_the_sections_that_follow():
    source = sections("prose")
    for window in windows("prose", [50_000] * 20, seed=3):
        start = next(at for at, section in enumerate(source) if section.id == window.id)
        following = source[(start + 1) % len(source)].text
        whole = f"{source[start].text}\n\n{following}"
        assert len(window.text) == 50_000
        assert window.text.startswith(whole[:50_000])


def test_more_windows_than_beginnings_are_refused():
    with pytest.raises(UnusableInput, match="99999 prompts of code were asked for; the standard library has"):
        windows("code", [10] * 99_999, seed=0)
