"""Puts verispec's rule in the place of vLLM's rejection sampling."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from verispec.coupling import RULES, Draws, Round, Verdict, greedy, gumbel
from verispec.coupling.round import PADDING
from verispec.engine.counters import Counters
from verispec.engine.seeded import SeededRequests

GREEDY_TEMPERATURE = 0


class Verifier:
    """Takes the calls of vllm.v1.sample.rejection_sampler.rejection_sample.

    Args:
        rule: a name in verispec.coupling.RULES.
        counters: where rounds are counted.

    """

    def __init__(self, rule: str, counters: Counters) -> None:
        self.rule = RULES[rule]
        self._counters = counters
        self._point_mass: Tensor | None = None
        self._seeded: SeededRequests | None = None
        self._serving = False

    def expect_round(self, point_mass: Tensor | None, seeded: SeededRequests | None) -> None:
        """The next call verifies real requests, whose point-mass rows are these (None: as draft_probs says)."""
        self._point_mass, self._seeded = point_mass, seeded
        self._serving = True

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
            point_mass, self._point_mass = self._point_mass, None
            seeded, self._seeded = self._seeded, None
            serving, self._serving = self._serving, False
            if further.get("synthetic_mode"):
                arguments = (draft_token_ids, num_draft_tokens, max_spec_len, cu_num_draft_tokens, draft_probs)
                return original(*arguments, target_logits, bonus_token_ids, sampling_metadata, **further)
            drafts, vocab = draft_token_ids.long(), target_logits.shape[-1]
            round_ = Round(
                # An id that is no token is no draw from anything: -1, which is rejected and repaired from the target.
                draft_token_ids=torch.where((drafts < 0) | (drafts >= vocab), PADDING, drafts),
                cu_num_draft_tokens=cu_num_draft_tokens.long(),
                target_probs=target_logits,
                draft_probs=draft_probs,
                point_mass=point_mass,
                bonus_token_ids=bonus_token_ids.view(-1).long(),
            )
            verdict = self._decide(round_, sampling_metadata, seeded)
            if serving and draft_token_ids.numel():
                self._counters.rounds += 1
                self._counters.drafted_tokens += draft_token_ids.numel()
                self._counters.accepted_tokens += int(verdict.num_accepted.sum())
            width = max_spec_len + 1 - verdict.token_ids.shape[1]
            return torch.nn.functional.pad(verdict.token_ids, (0, width), value=PADDING).to(torch.int32)

        return rejection_sample

    def _decide(self, round_: Round, sampling_metadata: Any, seeded: SeededRequests | None) -> Verdict:
        """The greedy rule if all requests are greedy; else the configured one, on one-hot rows for greedy requests.

        A row of NaN logits has no law; it is decided by its argmax, as vLLM's target-only sampler would.
        """
        if sampling_metadata.all_greedy:
            return greedy.decide(round_)
        logits = round_.target_probs
        probs = logits.softmax(dim=-1, dtype=torch.float32)
        one_hot = probs[:, :1].isnan().squeeze(-1)  # softmax spreads a NaN over its whole row
        if not sampling_metadata.all_random:
            is_greedy = sampling_metadata.temperature == GREEDY_TEMPERATURE
            one_hot |= torch.repeat_interleave(is_greedy, round_.num_drafts, output_size=len(one_hot))
        best = logits[one_hot].argmax(dim=-1, keepdim=True)
        probs[one_hot] = torch.zeros_like(probs[one_hot]).scatter_(-1, best, 1)
        round_ = replace(round_, target_probs=probs)
        if seeded is None:
            return self.rule.decide(round_, Draws.from_generator(round_, None))
        draws = Draws.keyed(round_, seeded.seeds, seeded.positions)
        verdict = self.rule.decide(round_, draws)
        by_own_draw = seeded.is_seeded & ~_has_law(round_)
        return _choose(by_own_draw, gumbel.decide(round_, draws), verdict) if by_own_draw.any() else verdict


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
