"""What a sweep found beside its comparisons, a line each: the control, the two schedulers, the rates within an SLO."""

from typing import Any

from verispec_bench.report.table import SPEEDUP, number


def finding_lines(summary: dict[str, Any]) -> list[str]:
    """For people; empty where nothing of the kind was measured."""
    kinds = dict.fromkeys(comparison["speedup_kind"] for comparison in summary["comparisons"])
    return [
        *(f"speedup: {SPEEDUP[kind]}{_loop(kind) if len(kinds) > 1 else ''}" for kind in kinds),
        *_control(summary.get("control")),
        *(_schedulers(pair) for pair in summary.get("two_schedulers") or []),
        *(_slo(rate) for rate in summary.get("slo") or []),
        *_prediction(summary.get("prediction")),
    ]


def _loop(kind: str) -> str:
    return " (closed loop)" if kind == "output_throughput" else " (open loop)"


def _control(control: dict[str, Any] | None) -> list[str]:
    if not control:
        return []
    return [
        f"control (A/A): the interval held 1 in {control['covered']} of {control['cells']} cells "
        f"({control['share']:.0%}, 95% interval {control['share_low']:.0%} to {control['share_high']:.0%}); "
        f"furthest from 1: {control['furthest']:.3f}"
    ]


def _schedulers(pair: dict[str, Any]) -> str:
    verdicts = ", ".join(
        f"at c={load} {number(speedup)} [{number(low)}, {number(high)}]"
        for load, speedup, low, high in zip(
            pair["loads"], pair["speedups"], pair["speedups_low"], pair["speedups_high"], strict=True
        )
    )
    agreement = "agrees" if pair["acceptance_agrees"] else "DIFFERS"
    return (
        f"two schedulers, {pair['workload']}, {pair['arm']}: speedup {verdicts}; "
        f"acceptance {agreement}: ratio {number(pair['acceptance_ratio'], 3)} "
        f"[{number(pair['acceptance_ratio_low'], 3)}, {number(pair['acceptance_ratio_high'], 3)}]"
    )


def _slo(found: dict[str, Any]) -> str:
    rate, above = found["slo_rate"], found["slo_rate_above"]
    if rate is None:
        known = f"less than {above:g}/s"
    else:
        known = f"at least {rate:g}/s" + ("" if above is None else f", less than {above:g}/s")
    ratio = f", {found['slo_rate_ratio']:.2f} times the baseline's" if found["slo_rate_ratio"] else ""
    disturbed = f" (not to be believed: {'; '.join(found['reasons'])})" if found["reasons"] else ""
    return f"within the goodput, {found['workload']}, {found['arm']}: {known}{ratio}{disturbed}"


def _prediction(prediction: dict[str, Any] | None) -> list[str]:
    if not prediction:
        return []
    lines = []
    for arm, found in prediction["errors"].items():
        if not found:
            continue
        within = found.get("speedup_within_interval")  # not in summaries of earlier versions
        lines.append(
            f"speed model, {arm}: step times of held-out cells off by {found['step_error_median']:.0%} (median; p95 "
            f"{found['step_error_p95']:.0%}), speedup within 5% in {found['speedup_within_5_percent']} of "
            f"{found['cells']}" + ("" if within is None else f", within the measured interval in {within}")
        )
    return lines
