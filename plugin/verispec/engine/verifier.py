"""Puts verispec's rule in the place of vLLM's rejection sampling."""

from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch
from torch import Tensor

from verispec.control import AcceptanceWatch, Fallback, Reason
from verispec.coupling import RULES, Draws, Round, Verdict, gumbel
from verispec.coupling.round import PADDING
from verispec.engine.counters import Counters, add_at
from verispec.engine.seeded import SeededRequests

GREEDY_TEMPERATURE = 0


class Verifier:
    """Takes the calls of vllm.v1.sample.rejection_sampler.rejection_sample.

    Args:
        rule: a name in verispec.coupling.RULES.
        counters: where rounds are counted.
        fallback: is told when acceptance has collapsed, or a draft is no token.
        acceptance: finds a collapse.

    """

    def __init__(self, rule: str, counters: Counters, fallback: Fallback, acceptance: AcceptanceWatch) -> None:
        self.rule = RULES[rule]
        self._counters = counters
        self._fallback = fallback
        self._acceptance = acceptance
        self._expected: tuple[Tensor | None, SeededRequests | None] | None = None

    def expect_round(self, point_mass: Tensor | None, seeded: SeededRequests | None) -> None:
        """The next call verifies real requests, whose point-mass rows are these (None: as draft_probs says)."""
        self._expected = point_mass, seeded

    def adapt(self, original: Callable[..., Tensor]) -> Callable[..., Tensor]:
        """The function to put in the place of `original`, with its signature."""

        def rejection_sample(
            draft_token_ids: Tensor,
            num_draft_tokens: list[int],
            max_spec_len: int,
            cu_num_draft_tokens: Tensor,
            draft_probs: Tensor | None,
            target_logits: Tensor,
            bonus_token_ids: Tensor,
            sampling_metadata: Any,
            **further: Any,
        ) -> Tensor:
            started = perf_counter()
            expected, self._expected = self._expected, None
            point_mass, seeded = expected or (None, None)
            if sampling_metadata.all_greedy or further.get("synthetic_mode"):
                # vLLM's own greedy kernel is the greedy rule.
                arguments = (draft_token_ids, num_draft_tokens, max_spec_len, cu_num_draft_tokens, draft_probs)
                output = original(*arguments, target_logits, bonus_token_ids, sampling_metadata, **further)
            else:
                drafts, vocab = draft_token_ids.long(), target_logits.shape[-1]
                round_ = Round(
                    # An id that is no token is no draw from anything: -1, rejected and repaired from the target.
                    draft_token_ids=torch.where((drafts < 0) | (drafts >= vocab), PADDING, drafts),
                    cu_num_draft_tokens=cu_num_draft_tokens.long(),
                    target_probs=_probabilities(target_logits, cu_num_draft_tokens, sampling_metadata),
                    draft_probs=draft_probs,
                    point_mass=point_mass,
                    bonus_token_ids=bonus_token_ids.view(-1).long(),
                )
                tokens = self._decide(round_, seeded).token_ids
                width = max_spec_len + 1 - tokens.shape[1]
                output = torch.nn.functional.pad(tokens, (0, width), value=PADDING).to(torch.int32)
            if expected:
                self._count(draft_token_ids, target_logits.shape[-1], output)
                self._counters.rule_seconds += perf_counter() - started
            return output

        return rejection_sample

    def _count(self, draft_token_ids: Tensor, vocab: int, output: Tensor) -> None:
        """A finished round; the scheduler's padding (-1) is no draft."""
        drafts = [token for token in draft_token_ids.tolist() if token != PADDING]
        if not drafts:
            return
        kept = (output[:, 1:] != PADDING).sum(dim=0).tolist()
        self._counters.verify_steps += 1
        self._counters.drafted_tokens += len(drafts)
        self._counters.accepted_tokens += sum(kept)
        add_at(self._counters.accepted_per_position, kept)
        if not all(0 <= token < vocab for token in drafts):
            self._fallback.trip(Reason.RULE_CHECK, "a draft is no token of the vocabulary")
        if collapse := self._acceptance.observe(len(drafts), sum(kept)):
            self._fallback.trip(Reason.ACCEPTANCE_COLLAPSE, collapse)

    def _decide(self, round_: Round, seeded: SeededRequests | None) -> Verdict:
        """By the configured rule; seeded requests by the target's own draws, unless a draft has a law of its own."""
        if seeded is None:
            return self.rule.decide(round_, Draws.from_generator(round_, None))
        draws = Draws.keyed(round_, seeded.seeds, seeded.positions)
        by_own_draw = seeded.is_seeded & ~_has_law(round_)
        if by_own_draw.all():
            return gumbel.decide(round_, draws)
        return _choose(by_own_draw, gumbel.decide(round_, draws), self.rule.decide(round_, draws))


def _has_law(round_: Round) -> Tensor:
    """Which requests have a draft with a law q of its own, bool [batch]."""
    if round_.draft_probs is None:
        return torch.zeros_like(round_.num_drafts, dtype=torch.bool)
    if round_.point_mass is None:
        return round_.num_drafts > 0
    return (~round_.point_mass[round_.grid] & round_.is_draft).any(dim=1)


def _choose(first: Tensor, verdict: Verdict, other: Verdict) -> Verdict:
    """Per request, one of two verdicts on the same round."""
    return Verdict(
        torch.where(first.unsqueeze(1), verdict.token_ids, other.token_ids),
        torch.where(first, verdict.num_accepted, other.num_accepted),
    )


def _probabilities(logits: Tensor, cu_num_draft_tokens: Tensor, sampling_metadata: Any) -> Tensor:
    """The target's law at each draft, float32 [num_tokens, vocab]; one-hot rows for greedy requests.

    A row of NaN logits has no law; it is decided by its argmax, as vLLM's target-only sampler would.
    """
    probs = logits.softmax(dim=-1, dtype=torch.float32)
    one_hot = probs[:, :1].isnan().squeeze(-1)  # softmax spreads a NaN over its whole row
    if not sampling_metadata.all_random:
        is_greedy = sampling_metadata.temperature == GREEDY_TEMPERATURE
        num_drafts = torch.diff(cu_num_draft_tokens, prepend=cu_num_draft_tokens.new_zeros(1))
        one_hot |= torch.repeat_interleave(is_greedy, num_drafts, output_size=len(one_hot))
    rows = one_hot.nonzero().squeeze(1)
    probs[rows] = 0
    probs[rows, logits[rows].argmax(dim=-1)] = 1
    return probs
