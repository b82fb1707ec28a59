"""`code-edit`: functions of the running interpreter's standard library, to be rewritten with a small change.

Real text whose answer copies long runs of the prompt: the traffic that lookup drafters are made for. The functions
are read where they are installed; nothing of them is kept in the project, so their set depends on the interpreter
(its digest is part of the manifest).
"""

import ast
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from verispec_bench.workload.prompt import Prompt

MIN_CHARS, MAX_CHARS = 300, 1200
MAX_FILE_BYTES = 60_000
"""Larger modules are left out: parsing them would take longer than all others together."""
CHANGES = (
    "Rename the function to `{name}_v2` and change nothing else.",
    "Add a first line to the body that logs the call with `logging.debug`, and change nothing else.",
    "Rename its first parameter to `source` everywhere, and change nothing else.",
    "Add type hints to the signature, and change nothing else.",
)


def prompts() -> list[Prompt]:
    """One prompt for each suitable function, in the order of files and lines."""
    return list(_prompts())


@cache
def _prompts() -> tuple[Prompt, ...]:
    found: list[Prompt] = []
    for path, function, source in _functions():
        change = CHANGES[len(found) % len(CHANGES)].format(name=function.name)
        text = (
            f"Rewrite this Python function. {change} Answer with the complete function only.\n\n"
            f"```python\n{source}\n```"
        )
        found.append(Prompt(f"{path.stem}.{function.name}:{function.lineno}", text))
    return tuple(found)


def _functions() -> Iterator[tuple[Path, ast.FunctionDef, str]]:
    """Module-level functions with arguments, of a size that fits small contexts."""
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        if path.stat().st_size > MAX_FILE_BYTES:
            continue
        try:
            text = path.read_text(encoding="utf-8")
            tree, lines = ast.parse(text), text.splitlines()
        except (OSError, UnicodeDecodeError, SyntaxError):
            continue
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.args.args and not node.decorator_list:
                source = "\n".join(lines[node.lineno - 1 : node.end_lineno])
                if MIN_CHARS <= len(source) <= MAX_CHARS:
                    yield path, node, source
