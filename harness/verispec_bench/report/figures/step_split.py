"""Where the time of steps goes: drafting, verifying, the rule, passes without drafts, and the rest."""

from typing import Any

from matplotlib.figure import Figure

from verispec_bench.labels import where
from verispec_bench.report.figures.style import subplots

PARTS = {
    "step_draft_share": ("draft", "C0"),
    "step_verify_pass_share": ("pass over drafts", "C1"),
    "step_decode_pass_share": ("pass without drafts", "C4"),
    "step_prompt_pass_share": ("pass with prompts", "C7"),
    "step_rule_share": ("rule", "C2"),
    "step_other_share": ("other", "#dddddd"),
}


def draw_step_split(summary: dict[str, Any]) -> Figure | None:
    """A bar for each arm and cell whose server has the plugin's clocks."""
    cells = [c for arm in summary["arms"].values() for c in arm if c.get("step_prompt_pass_share") is not None]
    if not cells:
        return None
    figure, axes = subplots(figsize=(7.5, 0.9 + 0.34 * len(cells)))
    labels = [where(cell, cells) for cell in cells]
    left = [0.0] * len(cells)
    for key, (name, color) in PARTS.items():
        shares = [cell[key] or 0.0 for cell in cells]
        axes.barh(range(len(cells)), shares, left=left, color=color, label=name)
        left = [before + share for before, share in zip(left, shares, strict=True)]
    axes.set_yticks(range(len(cells)), labels, fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of the time in steps")
    axes.set_title("Where the time of steps goes", loc="left", pad=26)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(PARTS), fontsize=8, handlelength=1, columnspacing=1)
    return figure
