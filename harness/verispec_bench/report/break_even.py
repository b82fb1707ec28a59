"""The break-even explorer: one self-contained page, which works from a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape

from verispec_bench.record.atomic import write_text


def write_break_even(path: Path, presets: Sequence[dict[str, Any]]) -> Path:
    """Write the page; it opens with the first preset (verispec_bench.speedmodel.presets)."""
    environment = Environment(loader=PackageLoader("verispec_bench.report"), autoescape=select_autoescape())
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, environment.get_template("break_even.html").render(presets=list(presets)))
    return path
