"""Multi-path verification: SpecInfer's multi-round rejection sampling (Miao et al., 2305.09781).

K paths of drafts are drawn independently, each token from its own path's q given that path so far. After the committed
tokens c, the *candidates* are the next drafts x₁, x₂, … of the paths that begin with c. They are tried in order
against a law that starts as the target's, p₁ = p(· | c):

    keep xᵢ with probability min(1, pᵢ(xᵢ) / qᵢ(xᵢ)),  else  pᵢ₊₁ = (pᵢ − qᵢ)₊, normalised.

The first that is kept is committed, and the round goes on with the paths that begin with it. Where no candidate is
left the token is drawn from the last pᵢ and ends the round: the repair after rejections; p itself, the bonus, where
there was no candidate at all.

The law of the committed tokens is the target's:

1. At one position. The token that is committed once x₁ … xᵢ₋₁ are rejected follows pᵢ. With no candidate left it is
   drawn so; with one, and if pᵢ₊₁ holds after it, its law is min(pᵢ, qᵢ) + (1 − Σ min(pᵢ, qᵢ)) pᵢ₊₁ =
   min(pᵢ, qᵢ) + (pᵢ − qᵢ)₊ = pᵢ, which is the token rule. By induction from the last candidate back it follows p₁ = p.
2. At the next. All decisions so far depend on the drafts up to here and on uniforms of their own. Given these it is
   settled which paths begin with c, and their next drafts are still independent draws from q(· | c): the path that was
   kept and later ones that share its token alike. So 1. holds again. (A rejected path is never among them: rejection
   means pᵢ(xᵢ) < qᵢ(xᵢ), so that pₖ(xᵢ) = 0 for every k > i, and nothing commits xᵢ any more.)

A draft that is no draw from q (-1, or q(x) = 0) ends its path: it is no candidate and leaves pᵢ as it is. Where a path
ends may depend on the drafts before, not on the one that is left out. One path is the token rule. For the same random
numbers a further path never shortens what is kept; but for K > 1 the best coupling would keep more (Sun et al.,
2310.15141).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from verispec.coupling.distance import residual
from verispec.coupling.round import PADDING, Verdict
from verispec.coupling.sampling import draw


@dataclass(frozen=True)
class Paths:
    """The drafts of a batch of requests, several paths each.

    Attributes:
        draft_token_ids: int64 [batch, paths, γ]; -1 ends a path.
        target_probs: float [batch, paths, γ + 1, vocab]; row j is the target's law after the path's first j drafts.
        draft_probs: float [batch, paths, γ, vocab]; row j is the law that draft j was drawn from.

    """

    draft_token_ids: Tensor
    target_probs: Tensor
    draft_probs: Tensor


@dataclass(frozen=True)
class PathDraws:
    """The random numbers that the rule consumes: independent of each other and of whatever drew the drafts.

    Attributes:
        accept: float64 [batch, paths, γ], uniform on [0, 1).
        last: float64 [batch], uniform on [0, 1), for the token that ends the round.

    """

    accept: Tensor
    last: Tensor


@dataclass(frozen=True)
class PathVerdict(Verdict):
    """What a round commits: token_ids int64 [batch, γ + 1], num_accepted int64 [batch], and where the tokens lie.

    Attributes:
        path: int64 [batch]: a path whose first num_accepted drafts are the kept ones; 0 where none was kept.

    """

    path: Tensor


def verify_paths(
    *,
    draft_token_ids: Tensor,
    target_probs: Tensor,
    draft_probs: Tensor,
    generator: torch.Generator | None = None,
) -> PathVerdict:
    """Verify several independent paths of drafts per request, exactly. Inputs are never changed.

    Paths need not share a drafter. A draft that was not drawn at random is a point mass: its row of draft_probs is
    one-hot.

    Args:
        draft_token_ids: int [batch, paths, γ], in [-1, vocab). -1 ends a path; a missing path is all -1.
        target_probs: float [batch, paths, γ + 1, vocab], after the sampling transformation: row j of a path is the
            target's law after its first j drafts, the same for paths that share those. Unread beyond a path's end;
            row 0 is that of every path, even of a missing one.
        draft_probs: float [batch, paths, γ, vocab]: row j is the law that draft j of the path was drawn from. Unread
            from a path's end on.
        generator: torch's default if None.

    Raises:
        ValueError: a wrong shape, an id out of range, NaN; the argument and row are named.

    """
    _check(draft_token_ids, target_probs, draft_probs)
    device = target_probs.device
    draws = PathDraws(
        torch.rand(draft_token_ids.shape, dtype=torch.float64, device=device, generator=generator),
        torch.rand(len(draft_token_ids), dtype=torch.float64, device=device, generator=generator),
    )
    return decide(Paths(draft_token_ids.long(), target_probs, draft_probs), draws)


def decide(paths: Paths, draws: PathDraws) -> PathVerdict:
    """Try the candidates depth by depth, in the order of their paths; shapes are trusted."""
    batch, num_paths, gamma = paths.draft_token_ids.shape
    proposal = paths.draft_probs.gather(-1, paths.draft_token_ids.clamp_min(0).unsqueeze(-1)).squeeze(-1)
    drafts = torch.where(proposal > 0, paths.draft_token_ids, PADDING)
    requests = torch.arange(batch, device=drafts.device)
    num_accepted, path = torch.zeros_like(requests), torch.zeros_like(requests)
    follows = torch.ones(batch, num_paths, dtype=torch.bool, device=drafts.device)
    law = paths.target_probs[:, 0, 0].to(torch.float64, copy=True)

    for depth in range(gamma):
        for candidate in range(num_paths):
            draft = drafts[:, candidate, depth]
            tried = follows[:, candidate] & (draft != PADDING) & (num_accepted == depth)
            target = law.gather(1, draft.clamp_min(0).unsqueeze(1)).squeeze(1)
            kept = tried & (draws.accept[:, candidate, depth] * proposal[:, candidate, depth] < target)
            rejected = (tried & ~kept).nonzero().squeeze(1)
            law[rejected] = residual(law[rejected], paths.draft_probs[rejected, candidate, depth])
            num_accepted += kept
            path = torch.where(kept, candidate, path)
        follows &= drafts[:, :, depth] == drafts[requests, path, depth].unsqueeze(1)
        going_on = (num_accepted > depth).nonzero().squeeze(1)
        law[going_on] = paths.target_probs[going_on, path[going_on], depth + 1].double()

    token_ids = drafts.new_full((batch, gamma + 1), PADDING)
    is_kept = torch.arange(gamma, device=drafts.device) < num_accepted.unsqueeze(1)
    token_ids[:, :gamma] = torch.where(is_kept, drafts[requests, path], PADDING)
    token_ids.scatter_(1, num_accepted.unsqueeze(1), draw(law, draws.last).unsqueeze(1))
    return PathVerdict(token_ids, num_accepted, path)


def _check(draft_token_ids: Tensor, target_probs: Tensor, draft_probs: Tensor) -> None:
    if draft_token_ids.ndim != 3 or not draft_token_ids.shape[1]:
        raise ValueError(
            f"draft_token_ids: shape {tuple(draft_token_ids.shape)}, expected [batch, paths, γ] with a path at least"
        )
    batch, num_paths, gamma = draft_token_ids.shape
    vocab = target_probs.shape[-1] if target_probs.ndim else 0
    for name, tensor, length in (("target_probs", target_probs, gamma + 1), ("draft_probs", draft_probs, gamma)):
        if tuple(tensor.shape) != (batch, num_paths, length, vocab):
            raise ValueError(f"{name}: shape {tuple(tensor.shape)}, expected {(batch, num_paths, length, vocab)}")
    outside = (draft_token_ids < -1) | (draft_token_ids >= vocab)
    _refuse_rows("draft_token_ids", outside, f"is outside [-1, {vocab})")
    on_path = (draft_token_ids >= 0).long().cumprod(dim=-1).bool()
    after_path = torch.nn.functional.pad(on_path, (1, 0), value=True)
    _refuse_rows("target_probs", target_probs.isnan().any(dim=-1) & after_path, "holds NaN")
    _refuse_rows("draft_probs", draft_probs.isnan().any(dim=-1) & on_path, "holds NaN")


def _refuse_rows(name: str, wrong: Tensor, why: str) -> None:
    if wrong.any():
        raise ValueError(f"{name}: row {wrong.nonzero()[0].tolist()} {why}")
