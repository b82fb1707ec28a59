"""The documentation's pages, and the commands on them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
BLOCK = re.compile(r"^(?:<!-- run: (\w+) -->\n)?```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)

UNMARKED = re.compile(r"(?<!-->\n)^```text\n(?:\$ )?(?:verispec|make|curl|python|apt|pip|git) .*", re.MULTILINE)
"""Commands that are shown as text, without a word on why they are not run."""


@dataclass(frozen=True)
class Commands:
    """A block of a page: `needs` is "engine", "gpu", or "" for what runs anywhere."""

    needs: str
    text: str


def commands_of(page: Path) -> list[Commands]:
    return [Commands(needs or "", text) for needs, text in BLOCK.findall(page.read_text(encoding="utf-8"))]


def name_of(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()
