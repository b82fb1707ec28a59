"""How many tokens a round commits: E[N]."""

from collections.abc import Sequence

from scipy.optimize import brentq


def expected_tokens(alpha: float, gamma: int) -> float:
    """E[N] = 1 + α + … + α^γ: each draft is accepted independently with probability α.

    Args:
        alpha: in [0, 1].
        gamma: drafts in a round.

    """
    return sum(alpha**i for i in range(gamma + 1))


def expected_tokens_of(survival: Sequence[float]) -> float:
    """E[N] from measured prefix survival: of all rounds, the share that kept the first 1, 2, … γ drafts.

    vLLM's `spec_decode_per_position_acceptance_rates` are these shares where every round drafts γ tokens.
    """
    return 1 + sum(survival)


def independent_acceptance(tokens: float, gamma: int) -> float | None:
    """The α of independent acceptance with E[N] = tokens; None where no α has it (outside [1, γ + 1])."""
    if not 1 <= tokens <= gamma + 1:
        return None
    return float(brentq(lambda alpha: expected_tokens(alpha, gamma) - tokens, 0.0, 1.0))
