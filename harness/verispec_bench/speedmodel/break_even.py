"""What the first-order model says of a setting: does it win, and what would it take to break even?"""

from typing import Any

from verispec_bench.speedmodel.expectation import expected_tokens
from verispec_bench.speedmodel.round import Round, WholeRequest, memory_bound_speedup


def break_even(costs: Round, alpha: float, request: WholeRequest | None = None, batch: float = 1) -> dict[str, Any]:
    """The figures of a setting, for JSON; None where something does not exist.

    Args:
        costs: of a round.
        alpha: acceptance of each draft, independent of the others.
        request: to say it from end to end too.
        batch: requests whose rounds run side by side at these costs.

    """
    tokens = expected_tokens(alpha, costs.gamma)
    window, fastest = costs.best_window(alpha)
    return {
        "alpha": alpha,
        "gamma": costs.gamma,
        "expected_tokens": tokens,
        "round_ms": costs.ms,
        "token_ms": costs.ms / tokens,
        "speedup": costs.speedup(tokens),
        "tokens_per_s": costs.goodput(tokens, batch),
        "target_only_tokens_per_s": 1000 * batch / costs.target_ms,
        "break_even_tokens": costs.break_even_tokens(),
        "break_even_alpha": costs.break_even_alpha(),
        "break_even_verify_ms": costs.break_even_verify_ms(tokens),
        "best_gamma": window,
        "best_gamma_speedup": fastest,
        "memory_bound_speedup": memory_bound_speedup(tokens, costs.gamma, costs.draft_ms / costs.target_ms),
        "end_to_end": _end_to_end(costs, tokens, request) if request else None,
    }


def _end_to_end(costs: Round, tokens: float, request: WholeRequest) -> dict[str, float]:
    before, after = request.target_only_ms(costs), request.speculative_ms(costs, tokens)
    return {"target_only_ms": before, "speculative_ms": after, "speedup": before / after}
