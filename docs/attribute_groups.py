"""For the reference: `a, b: what both are` in a docstring's attributes becomes an entry for each."""

import re
from typing import Any

import griffe

GROUP = re.compile(r"^( +)(\w+(?:, \w+)+): (.*(?:\n\1 +.*)*)$", re.MULTILINE)


def entry_for_each(found: re.Match[str]) -> str:
    """The same text under every name."""
    indent, names, text = found.groups()
    return "\n".join(f"{indent}{name}: {text}" for name in names.split(", "))


class AttributeGroups(griffe.Extension):
    """Applied to every class that is loaded."""

    def on_class_instance(self, *, cls: griffe.Class, **_: Any) -> None:
        """Split the groups before the docstring is parsed."""
        if cls.docstring:
            cls.docstring.value = GROUP.sub(entry_for_each, cls.docstring.value)
