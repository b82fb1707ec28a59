"""Two worked scenarios: one in which speculation must win, one in which it must lose."""

from dataclasses import dataclass

from verispec_bench.speedmodel.round import Round, WholeRequest


@dataclass(frozen=True)
class Worked:
    """A scenario of the model; alpha is the acceptance of each draft, independent of the others."""

    costs: Round
    alpha: float
    request: WholeRequest | None = None


WORKED = {
    "code_assistant": Worked(
        Round(target_ms=20, draft_ms=1, verify_ms=21, overhead_ms=1.5, gamma=4),
        alpha=0.78,
        request=WholeRequest(prefill_ms=420, tokens=160),
    ),
    "negative_control": Worked(
        Round(target_ms=4.5, draft_ms=0.9, verify_ms=9.5, overhead_ms=1, gamma=4),
        alpha=0.55,
    ),
}
