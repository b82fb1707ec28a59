"""Settings for the break-even page: the worked scenarios, and what a sweep has measured."""

from typing import Any

from verispec_bench.labels import where
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

    B is a step of the baseline: by its clock where its steps were counted (`count_steps`), else its median time between
    tokens. By the arm's own clocks, V is the mean pass over drafts beside which no prompt was read; drafting, and what
    a step takes beside, come in every step, the rule in those with drafts. γ is the mean draft, and α that of
    independent acceptance with the measured tokens of a round.
    """
    found = []
    for comparison in summary["comparisons"]:
        if comparison["baseline"] != BASELINE or comparison["concurrency"] is None or not comparison["valid"]:
            continue
        arm, baseline = (_cell(summary, name, comparison) for name in (comparison["arm"], BASELINE))
        name = f"{where(comparison, summary['comparisons'])}: as measured"
        made = _preset(name, arm, baseline, comparison) if arm and baseline else None
        if made:
            found.append(made)
    return found


def _cell(summary: dict[str, Any], arm: str, comparison: dict[str, Any]) -> dict[str, Any] | None:
    keys = ("workload", "concurrency", "input_len", "output_len", "temperature", "max_num_seqs", "dtype")
    cells = (c for c in summary["arms"][arm] if all(c.get(key) == comparison.get(key) for key in keys))
    return next(cells, None)


def _preset(
    name: str, arm: dict[str, Any], baseline: dict[str, Any], comparison: dict[str, Any]
) -> dict[str, Any] | None:
    needed = ("spec_decode_num_drafts", "draft_tokens", "engine_steps", "verify_steps", "verify_pass_ms",
              "spec_decode_acceptance_length", "batch_size_mean")  # fmt: skip
    timed = ("step_draft_s", "step_rule_s", "step_other_s", "step_prompt_pass_s")  # the last: V is without prompts
    known = all(arm.get(key) for key in needed) and all(arm.get(key) is not None for key in timed)
    target_ms = _target_ms(baseline)
    if not known or not target_ms:
        return None
    gamma = max(1, round(arm["draft_tokens"] / arm["spec_decode_num_drafts"]))
    steps = arm["engine_steps"]
    costs = Round(
        target_ms=target_ms,
        draft_ms=1000 * arm["step_draft_s"] / steps / gamma,
        verify_ms=arm["verify_pass_ms"],
        overhead_ms=1000 * (arm["step_rule_s"] / arm["verify_steps"] + arm["step_other_s"] / steps),
        gamma=gamma,
    )
    alpha = independent_acceptance(min(arm["spec_decode_acceptance_length"], gamma + 1.0), gamma)
    request = WholeRequest(baseline["median_ttft_ms"] or 0.0, round(arm["output_len_mean"]))
    made = preset(name, costs, alpha if alpha is not None else 1.0, request, arm["batch_size_mean"])
    point = {"batch": arm["batch_size_mean"], **{k: comparison[f"speedup{s}"] for k, s in _POINT.items()}}
    return made | {"measured": [point]}


def _target_ms(baseline: dict[str, Any]) -> float | None:
    """A step that only decodes: pass, sampling and bookkeeping."""
    if not baseline.get("decode_pass_ms"):
        return baseline.get("median_itl_ms")
    beside_ms: float = 1000 * baseline["step_other_s"] / baseline["engine_steps"]
    return float(baseline["decode_pass_ms"]) + beside_ms


_POINT = {"speedup": "", "low": "_low", "high": "_high"}
