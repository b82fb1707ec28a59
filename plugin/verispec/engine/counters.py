"""What the plugin did in this process since it started."""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Counters:
    """Plain counts and times; warm-up rounds of the engine are not among them.

    Attributes:
        proposed_tokens: drafts that were handed to the scheduler, whoever drafted them.
        proposals_cut: proposals of verispec's drafters that were longer than they may be, and were cut.
        verify_steps: steps that verified at least one draft, whatever the number of requests.
        drafted_tokens: drafts that the target verified; positions that the scheduler pads are none.
        accepted_tokens: drafts that the rule kept (before stop conditions are applied).
        accepted_per_position: of these, how many were the 1st, 2nd, … of their draft.
        rows_with_draft_probs: drafts verified against their own law q.
        rows_without_draft_probs: drafts whose q went missing, verified as point masses (exact, but accepts less).
        rule_seconds: time spent in verifying their drafts, the target's softmax included; on GPUs the launching of it.
        draft_seconds: time spent in proposing drafts, by whichever drafter.
        verify_passes, verify_seconds: forward passes of steps with drafts that read no prompt.
        decode_passes, decode_seconds: those without drafts that read no prompt.
        prompt_passes, prompt_seconds: those that read prompts, whatever they did besides. A prompt's last token alone
            looks like decoding.
        overhead_seconds: what the steps took beside: vLLM's own sampling and bookkeeping.
        failed_rows: requests that were ended because the target's logits were not numbers.

    """

    proposed_tokens: int = 0
    proposals_cut: int = 0
    verify_steps: int = 0
    drafted_tokens: int = 0
    accepted_tokens: int = 0
    accepted_per_position: list[int] = field(default_factory=list)
    rows_with_draft_probs: int = 0
    rows_without_draft_probs: int = 0
    rule_seconds: float = 0.0
    draft_seconds: float = 0.0
    verify_passes: int = 0
    verify_seconds: float = 0.0
    decode_passes: int = 0
    decode_seconds: float = 0.0
    prompt_passes: int = 0
    prompt_seconds: float = 0.0
    overhead_seconds: float = 0.0
    failed_rows: int = 0

    def as_dict(self) -> dict[str, Any]:
        """All counts by name."""
        return asdict(self)


def add_at(counts: list[int], further: list[int]) -> None:
    """Add counts by position; the list grows as it must."""
    counts += [0] * (len(further) - len(counts))
    for position, count in enumerate(further):
        counts[position] += count
