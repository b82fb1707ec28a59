"""The first-order speedup of a round, S = B·E[N] / (D_γ + V_γ + H), and where it breaks even."""

from dataclasses import dataclass, replace

from verispec_bench.speedmodel.expectation import expected_tokens, independent_acceptance


@dataclass(frozen=True)
class Round:
    """What a round of speculation costs, beside a step without it. Milliseconds.

    Attributes:
        target_ms: B, a decoding step of the target alone.
        draft_ms: drafting one token; a block of γ costs D_γ = γ times as much.
        verify_ms: V_γ, the target's pass over the γ drafts: measured on the engine, not assumed equal to B.
        overhead_ms: H, all else that a round adds: rule, bookkeeping, scheduling.
        gamma: γ, drafts in a round.

    """

    target_ms: float
    draft_ms: float
    verify_ms: float
    overhead_ms: float
    gamma: int

    @property
    def ms(self) -> float:
        """D_γ + V_γ + H."""
        return self.gamma * self.draft_ms + self.verify_ms + self.overhead_ms

    def speedup(self, tokens: float) -> float:
        """S, where a round commits so many tokens on average."""
        return self.target_ms * tokens / self.ms

    def goodput(self, tokens: float, batch: float) -> float:
        """Committed tokens per second of so many requests, where a round commits so many for each of them."""
        return 1000 * batch * tokens / self.ms

    def break_even_tokens(self) -> float:
        """The E[N] at which S = 1."""
        return self.ms / self.target_ms

    def break_even_alpha(self) -> float | None:
        """The α of independent acceptance at which S = 1.

        0 where even a round that keeps nothing is no slower, None where one that keeps everything still is.
        """
        tokens = self.break_even_tokens()
        return 0.0 if tokens < 1 else independent_acceptance(tokens, self.gamma)

    def break_even_verify_ms(self, tokens: float) -> float:
        """The V_γ at which S = 1; negative where no pass is fast enough."""
        return self.target_ms * tokens - self.gamma * self.draft_ms - self.overhead_ms

    def with_window(self, gamma: int) -> "Round":
        """The same with another window; V is taken as linear in it, from B without drafts to what it is at γ.

        Where V is below B, which no pass over more tokens should be, it is taken as the same at every window.
        """
        per_draft = max(0.0, self.verify_ms - self.target_ms) / self.gamma if self.gamma else 0.0
        return replace(self, gamma=gamma, verify_ms=self.verify_ms + (gamma - self.gamma) * per_draft)

    def best_window(self, alpha: float, most: int = 32) -> tuple[int, float]:
        """The window 1 … most that is fastest under independent acceptance, and its S."""
        speedups = {
            gamma: self.with_window(gamma).speedup(expected_tokens(alpha, gamma)) for gamma in range(1, most + 1)
        }
        best = max(speedups, key=speedups.__getitem__)
        return best, speedups[best]


def memory_bound_speedup(tokens: float, gamma: int, relative_cost: float) -> float:
    """MBSU = E[N] / (c·γ + 1): were verifying free, a draft costing c target steps, and nothing else counted."""
    return tokens / (relative_cost * gamma + 1)


@dataclass(frozen=True)
class WholeRequest:
    """A request from end to end: no drafter makes its wait or its prompt shorter. Milliseconds.

    Attributes:
        prefill_ms: reading the prompt.
        tokens: of its answer.
        queue_ms: waiting before that.

    """

    prefill_ms: float
    tokens: int
    queue_ms: float = 0.0

    def target_only_ms(self, costs: Round) -> float:
        """End to end without speculation."""
        return self.queue_ms + self.prefill_ms + self.tokens * costs.target_ms

    def speculative_ms(self, costs: Round, tokens_per_round: float) -> float:
        """End to end with it."""
        return self.queue_ms + self.prefill_ms + self.tokens * costs.ms / tokens_per_round
