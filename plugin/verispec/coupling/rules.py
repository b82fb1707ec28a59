"""The verification rules by name, and the public, checked way to apply one."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from verispec.coupling import block, greedy, gumbel, token, typical
from verispec.coupling.round import Draws, Round, Verdict


@dataclass(frozen=True)
class Rule:
    """A way to decide which drafts are kept.

    Attributes:
        name: how settings and scenarios call it.
        exact: the committed tokens follow the target's law (proved in the module that implements it, and tested).
        needs_draft_probs: without the draft law the rule sees every draft as a point mass and accepts less.
        summary: one line for people.
        decide: the decision given its random draws and options; shapes are trusted.
        options: further arguments of the rule and their defaults.

    """

    name: str
    exact: bool
    needs_draft_probs: bool
    summary: str
    decide: Callable[..., Verdict]
    options: Mapping[str, float] = field(default_factory=dict)


RULES: dict[str, Rule] = {
    rule.name: rule
    for rule in (
        Rule("token", True, True, "keep x ~ q with probability min(1, p/q), repair from (p - q)+", token.decide),
        Rule("block", True, True, "judge the drafts together: keeps the most that one path allows", block.decide),
        Rule("greedy", True, False, "keep x while it is the target's argmax: exact for greedy requests", greedy.decide),
        Rule("gumbel", True, False, "keep x if it is the target's own keyed draw: same text, any draft", gumbel.decide),
        Rule(
            "typical",
            False,
            False,
            "approximate: keep x while p(x) >= min(epsilon, delta exp(-entropy))",
            typical.decide,
            {"epsilon": typical.EPSILON, "delta": typical.DELTA},
        ),
    )
}


def verify(
    rule: str,
    *,
    draft_token_ids: Tensor,
    cu_num_draft_tokens: Tensor,
    target_probs: Tensor,
    draft_probs: Tensor | None,
    bonus_token_ids: Tensor,
    point_mass: Tensor | None = None,
    generator: torch.Generator | Mapping[int, torch.Generator] | None = None,
    **options: float,
) -> Verdict:
    """Verify one round of drafts, all requests concatenated. Inputs are never changed.

    Args:
        rule: a name in RULES.
        draft_token_ids: int [num_tokens], in [-1, vocab); -1 is always rejected.
        cu_num_draft_tokens: int [batch], inclusive cumulative counts.
        target_probs: float [num_tokens, vocab], after the sampling transformation.
        draft_probs: float [num_tokens, vocab], or None where every draft is a point mass.
        bonus_token_ids: int [batch], drawn from the target at the position after the last draft.
        point_mass: bool [num_tokens], rows of draft_probs that are not read.
        generator: one torch.Generator, or {batch row: torch.Generator}; torch's default elsewhere.
        options: what the rule declares in Rule.options.

    Raises:
        ValueError: an unknown rule, a wrong shape, an id out of range, NaN; the argument and row are named.

    """
    if rule not in RULES:
        raise ValueError(f"rule: {rule!r} is none of {', '.join(RULES)}")
    if unknown := options.keys() - RULES[rule].options.keys():
        raise ValueError(f"{min(unknown)}: rule {rule!r} has no such option")
    _check(draft_token_ids, cu_num_draft_tokens, target_probs, draft_probs, bonus_token_ids, point_mass)
    round_ = Round(
        draft_token_ids=draft_token_ids.long(),
        cu_num_draft_tokens=cu_num_draft_tokens.long(),
        target_probs=target_probs,
        draft_probs=draft_probs,
        point_mass=point_mass,
        bonus_token_ids=bonus_token_ids.long(),
    )
    return RULES[rule].decide(round_, Draws.from_generator(round_, generator), **options)


def _check(
    draft_token_ids: Tensor,
    cu_num_draft_tokens: Tensor,
    target_probs: Tensor,
    draft_probs: Tensor | None,
    bonus_token_ids: Tensor,
    point_mass: Tensor | None,
) -> None:
    num_tokens, batch = draft_token_ids.numel(), cu_num_draft_tokens.numel()
    if target_probs.ndim != 2:
        raise ValueError(f"target_probs: shape {tuple(target_probs.shape)}, expected [num_tokens, vocab]")
    vocab = target_probs.shape[1]
    for name, tensor, shape in (
        ("draft_token_ids", draft_token_ids, (num_tokens,)),
        ("cu_num_draft_tokens", cu_num_draft_tokens, (batch,)),
        ("target_probs", target_probs, (num_tokens, vocab)),
        ("draft_probs", draft_probs, (num_tokens, vocab)),
        ("bonus_token_ids", bonus_token_ids, (batch,)),
        ("point_mass", point_mass, (num_tokens,)),
    ):
        if tensor is not None and tuple(tensor.shape) != shape:
            raise ValueError(f"{name}: shape {tuple(tensor.shape)}, expected {shape}")
    counts = torch.diff(cu_num_draft_tokens, prepend=cu_num_draft_tokens.new_zeros(1))
    _refuse_rows("cu_num_draft_tokens", counts < 0, "falls below the row before")
    if batch and int(cu_num_draft_tokens[-1]) != num_tokens:
        raise ValueError(f"cu_num_draft_tokens: ends at {int(cu_num_draft_tokens[-1])}, expected {num_tokens} drafts")
    _refuse_rows("draft_token_ids", (draft_token_ids < -1) | (draft_token_ids >= vocab), f"is outside [-1, {vocab})")
    _refuse_rows("bonus_token_ids", (bonus_token_ids < 0) | (bonus_token_ids >= vocab), f"is outside [0, {vocab})")
    _refuse_rows("target_probs", target_probs.isnan().any(dim=-1), "holds NaN")
    if draft_probs is not None:
        unread = draft_token_ids < 0 if point_mass is None else point_mass | (draft_token_ids < 0)
        _refuse_rows("draft_probs", draft_probs.isnan().any(dim=-1) & ~unread, "holds NaN")


def _refuse_rows(name: str, wrong: Tensor, why: str) -> None:
    if wrong.any():
        raise ValueError(f"{name}: row {int(wrong.nonzero()[0])} {why}")
