"""Code and prose of the running interpreter's standard library, read where it is installed.

Nothing of it is kept in the project, so the texts depend on the interpreter; their digest is part of the manifest.
"""

import re
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import cleandoc
from itertools import cycle, islice
from pathlib import Path
from pydoc_data.topics import topics
from random import Random
from typing import Literal

from verispec_bench.errors import UnusableInput

Kind = Literal["code", "prose"]
MIN_CHARS = 200
"""Shorter sections are part of the one before (code) or left out (prose)."""
DISTINCT_CHARS = 48
"""No two sections of a kind begin with the same so many characters."""
_LEFT_OUT = {"test", "tests", "idle_test", "lib2to3", "encodings", "pydoc_data", "site-packages", "dist-packages"}
"""Tests, tables of characters, and what is not of the standard library."""
_DEFINITION = re.compile(r"^(?=def |async def |class )", re.MULTILINE)
_DOCSTRING = re.compile(r'^[ \t]*r?"""(.+?)"""', re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Section:
    """A definition, a docstring or a page of the reference; the id says where it stands."""

    id: str
    text: str


@cache
def sections(kind: Kind) -> tuple[Section, ...]:
    """All sections, in the order of files and lines; no two begin alike."""
    found: dict[str, Section] = {}
    for section in _code() if kind == "code" else _prose():
        found.setdefault(section.text[:DISTINCT_CHARS], section)
    return tuple(found.values())


def windows(kind: Kind, chars: Sequence[int], seed: int) -> list[Section]:
    """Texts that each begin with a section of its own, in a seeded order, and run on; long ones overlap.

    Args:
        chars: length of each.

    Raises:
        UnusableInput: there are fewer sections.

    """
    source = sections(kind)
    if len(chars) > len(source):
        raise UnusableInput(
            f"{len(chars)} prompts of {kind} were asked for; the standard library has {len(source)} that begin "
            "differently: ask for fewer"
        )
    return [
        Section(source[start].id, _running_on(source, start, length))
        for start, length in zip(Random(seed).sample(range(len(source)), len(chars)), chars, strict=True)
    ]


def _running_on(source: Sequence[Section], start: int, chars: int) -> str:
    text = source[start].text
    for following in islice(cycle(source), start + 1, None):
        if len(text) >= chars:
            break
        text += "\n\n" + following.text
    return text[:chars]


def _code() -> Iterator[Section]:
    for name, text in _modules():
        begins = 0
        for definition in [*(match.start() for match in _DEFINITION.finditer(text)), len(text)]:
            section = text[begins:definition].strip()
            if len(section) >= MIN_CHARS:
                yield Section(f"{name}:{_line(text, begins)}", section)
                begins = definition


def _prose() -> Iterator[Section]:
    for topic, text in sorted(topics.items()):
        if len(page := text.strip()) >= MIN_CHARS:
            yield Section(f"reference.{topic}", page)
    for name, text in _modules():
        for match in _DOCSTRING.finditer(text):
            if len(prose := cleandoc(match[1])) >= MIN_CHARS:
                yield Section(f"{name}:{_line(text, match.start())}", prose)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _modules() -> Iterator[tuple[str, str]]:
    """Dotted name and source of every module."""
    root = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(root.rglob("*.py")):
        inside = path.relative_to(root)
        if _LEFT_OUT.isdisjoint(inside.parts):
            try:
                yield ".".join(inside.with_suffix("").parts), path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
