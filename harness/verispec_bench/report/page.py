"""report.html: one self-contained page with the summary, the figures and what was run."""

import base64
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape

from verispec_bench.labels import load_label, setting_label, where
from verispec_bench.record.atomic import write_text
from verispec_bench.report.budget import time_budgets
from verispec_bench.report.decisions import kept_decisions
from verispec_bench.report.figures import SAYS
from verispec_bench.report.findings import finding_lines
from verispec_bench.report.headline import headlines
from verispec_bench.report.table import number, same_tokens, verdict, with_interval
from verispec_bench.server.parity import MAY_DIFFER


def write_page(directory: Path, manifest: dict[str, Any], summary: dict[str, Any], figures: list[Path]) -> Path:
    """Write DIRECTORY/report.html; figures are embedded."""
    environment = Environment(loader=PackageLoader("verispec_bench.report"), autoescape=select_autoescape())
    environment.globals.update(
        verdict=verdict,
        with_interval=with_interval,
        number=number,
        same_tokens=same_tokens,
        load_label=load_label,
        setting_label=setting_label,
        where=where,
        may_differ=MAY_DIFFER,
    )
    html = environment.get_template("report.html").render(
        manifest=manifest,
        identity=manifest["identity"],
        scenario=manifest["identity"]["scenario"],
        summary=summary,
        headlines=headlines(summary),
        findings=finding_lines(summary),
        budgets=time_budgets(summary),
        decisions=kept_decisions(directory, summary),
        says=SAYS,
        has_settings=any(setting_label(c, summary["comparisons"]) for c in summary["comparisons"]),
        figures=[(path.stem, base64.b64encode(path.read_bytes()).decode()) for path in figures],
    )
    path = directory / "report.html"
    write_text(path, html)
    return path
