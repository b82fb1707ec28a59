"""Troubleshooting goes by messages that exist."""

import ast
import re

import pytest

from tests.docs.pages import DOCS, ROOT

ROW = re.compile(r"^\| `(.+?)` \|", re.MULTILINE)
MESSAGES = ROW.findall((DOCS / "troubleshooting.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def said():
    """Every text in the code, with … for what is put into it, and the scripts of `make setup`."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "requirements").glob("*.sh")]
    for folder in ("plugin", "harness"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.JoinedStr):
                    parts = [str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values]
                    texts.append("".join(parts))
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    texts.append(re.sub(r"%(\.\d+f|s|d)", "…", node.value))
    return texts


def test_there_are_messages():
    assert len(MESSAGES) > 25


@pytest.mark.parametrize("message", MESSAGES)
def test_the_message_exists(said, message):
    pattern = ".*".join(re.escape(part.strip()) for part in message.split("…"))
    assert any(re.search(pattern, text, re.DOTALL) for text in said), message
