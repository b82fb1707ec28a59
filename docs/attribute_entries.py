"""For the reference: an entry for each attribute of a docstring, with the default of settings and scenario files."""

import re
from typing import Any

import griffe

GROUP = re.compile(r"^( +)(\w+(?:, \w+)+): (.*(?:\n\1 +.*)*)$", re.MULTILINE)
ENTRY = re.compile(r"^( +)(\w+): (.*(?:\n\1 +.*)*)$", re.MULTILINE)
MODELS = {"BaseModel", "Strict", "Setup"}
"""Bases of the classes whose attributes people write."""


def entry_for_each(found: re.Match[str]) -> str:
    """`a, b: what both are` becomes the same text under every name."""
    indent, names, text = found.groups()
    return "\n".join(f"{indent}{name}: {text}" for name in names.split(", "))


def default_of(value: griffe.Expr | str | None) -> str | None:
    """Of a field: as it is written in a file; None: there is none, or it says no more than the type does."""
    if isinstance(value, griffe.ExprCall) and str(value.function) == "Field":
        given = [a for a in value.arguments if isinstance(a, griffe.ExprKeyword) and a.name == "default"]
        value = given[0].value if given else None
    if value is None or "(" in str(value):
        return None
    return {"None": "null", "True": "true", "False": "false"}.get(str(value), str(value).replace("'", '"'))


class AttributeEntries(griffe.Extension):
    """Applied to every class that is loaded."""

    def on_class_members(self, *, cls: griffe.Class, **_: Any) -> None:
        """Split the groups and add the defaults before the docstring is parsed."""
        if not cls.docstring:
            return
        text = GROUP.sub(entry_for_each, cls.docstring.value)
        if any(str(base) in MODELS for base in cls.bases):
            text = ENTRY.sub(lambda found: self._with_default(cls, found), text)
        cls.docstring.value = text

    def _with_default(self, cls: griffe.Class, found: re.Match[str]) -> str:
        name = found[2]
        attribute = cls.members.get(name)
        default = default_of(attribute.value) if isinstance(attribute, griffe.Attribute) else None
        return found[0] if default is None else f"{found[0]} Default: `{default}`."
