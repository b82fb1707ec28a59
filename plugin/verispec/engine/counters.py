"""What the plugin did in this process since it started."""

from dataclasses import asdict, dataclass


@dataclass
class Counters:
    """Plain counts and times; warm-up rounds of the engine are not among them.

    Attributes:
        rounds: steps that verified at least one draft, whatever the number of requests.
        drafted_tokens: drafts that the target verified.
        accepted_tokens: drafts that the rule kept (before stop conditions are applied).
        rows_with_draft_probs: drafts verified against their own law q.
        rows_without_draft_probs: drafts whose q went missing, verified as point masses (exact, but accepts less).
        rule_seconds: time spent in verifying those rounds, the target's softmax included; on GPUs the launching of it.
        draft_seconds: time spent in proposing drafts, by whichever drafter.
        drafter_errors: calls of the drafter that raised or answered for another number of requests, and answers that
            are no proposals.
        proposals_cut: proposals that were too long, held ids outside the vocabulary, or a q that is no law.

    """

    rounds: int = 0
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    rows_with_draft_probs: int = 0
    rows_without_draft_probs: int = 0
    rule_seconds: float = 0.0
    draft_seconds: float = 0.0
    drafter_errors: int = 0
    proposals_cut: int = 0

    def as_dict(self) -> dict[str, float]:
        """All counts by name."""
        return asdict(self)
