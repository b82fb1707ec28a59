"""Settings for the break-even page: the worked scenarios, and what a sweep has measured."""

from typing import Any

from verispec_bench.scenario import BASELINE
from verispec_bench.speedmodel.expectation import independent_acceptance
from verispec_bench.speedmodel.round import Round, WholeRequest
from verispec_bench.speedmodel.worked import WORKED

TYPICAL_REQUEST = WholeRequest(prefill_ms=0, tokens=100)


def preset(
    name: str, costs: Round, alpha: float, request: WholeRequest | None = None, batch: float = 1.0
) -> dict[str, Any]:
    """A setting for the page.

    Args:
        name: as the page calls it.
        costs: of a round, at this batch size.
        alpha: acceptance of each draft.
        request: prompt and answer.
        batch: requests in a step.

    """
    whole = request or TYPICAL_REQUEST
    setting = {"alpha": alpha, "batch": batch, **vars(costs), **vars(whole)}
    return {"name": name, "measured": [], **{key: round(value, 3) for key, value in setting.items()}}


def worked_presets() -> list[dict[str, Any]]:
    """The two worked scenarios."""
    return [preset(name.replace("_", " "), w.costs, w.alpha, w.request) for name, w in WORKED.items()]


def measured_presets(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """One for each closed-loop cell of a sweep in which an arm drafted and its step times were read.

    B is the baseline's median time between tokens; d, V and H are means of the arm's own clocks over its steps with
    drafts; γ is the mean draft, and α that of independent acceptance with the measured tokens of a round.
    """
    found = []
    for comparison in summary["comparisons"]:
        if comparison["baseline"] != BASELINE or comparison["concurrency"] is None or not comparison["valid"]:
            continue
        arm, baseline = (_cell(summary, name, comparison) for name in (comparison["arm"], BASELINE))
        made = _preset(arm, baseline, comparison) if arm and baseline else None
        if made:
            found.append(made)
    return found


def _cell(summary: dict[str, Any], arm: str, comparison: dict[str, Any]) -> dict[str, Any] | None:
    keys = ("workload", "concurrency", "input_len", "output_len", "temperature", "max_num_seqs", "dtype")
    cells = (c for c in summary["arms"][arm] if all(c.get(key) == comparison.get(key) for key in keys))
    return next(cells, None)


def _preset(arm: dict[str, Any], baseline: dict[str, Any], comparison: dict[str, Any]) -> dict[str, Any] | None:
    needed = ("spec_decode_num_drafts", "draft_tokens", "verify_steps", "verify_pass_ms", "step_draft_s", "step_rule_s",
              "step_other_s", "spec_decode_acceptance_length", "batch_size_mean", "median_ttft_ms")  # fmt: skip
    if any(not arm.get(key) for key in needed) or not baseline.get("median_itl_ms"):
        return None
    gamma = max(1, round(arm["draft_tokens"] / arm["spec_decode_num_drafts"]))
    steps = arm["verify_steps"]
    costs = Round(
        target_ms=baseline["median_itl_ms"],
        draft_ms=1000 * arm["step_draft_s"] / steps / gamma,
        verify_ms=arm["verify_pass_ms"],
        overhead_ms=1000 * (arm["step_rule_s"] + arm["step_other_s"]) / steps,
        gamma=gamma,
    )
    alpha = independent_acceptance(min(arm["spec_decode_acceptance_length"], gamma + 1.0), gamma)
    request = WholeRequest(baseline["median_ttft_ms"] or 0.0, round(arm["output_len_mean"]))
    name = f"{comparison['workload']}, c={comparison['concurrency']}, {comparison['arm']}: as measured"
    made = preset(name, costs, alpha if alpha is not None else 1.0, request, arm["batch_size_mean"])
    point = {"batch": arm["batch_size_mean"], **{k: comparison[f"speedup{s}"] for k, s in _POINT.items()}}
    return made | {"measured": [point]}


_POINT = {"speedup": "", "low": "_low", "high": "_high"}
