"""Planted mistakes in a round of verification, and the world in which test_power.py must notice them."""

from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from verispec.coupling import RULES, Draws, Round, residual, verify
from verispec.coupling.keyed import uniform

P = torch.tensor([[0.5, 0.3, 0.2], [0.2, 0.55, 0.25], [0.15, 0.25, 0.6], [0.65, 0.2, 0.15]], dtype=torch.float64)
Q = torch.tensor([[0.6, 0.1, 0.3], [0.3, 0.5, 0.2], [0.25, 0.2, 0.55], [0.4, 0.35, 0.25]], dtype=torch.float64)
"""Next-token laws of target and drafter: row 0 at the start, row 1 + t after token t."""
VOCAB, GAMMA, LENGTH = 3, 3, 4


@dataclass
class Rounds:
    """One round for many requests, as a mutant sees it: tensors [n, γ, …] that it may change."""

    last: Tensor
    generator: torch.Generator
    rule: str
    drafts: Tensor = field(init=False)
    p: Tensor = field(init=False)
    q: Tensor = field(init=False)
    bonus: Tensor = field(init=False)

    def uniform(self, *shape) -> Tensor:
        return torch.rand(*shape, generator=self.generator, dtype=torch.float64)

    def draw(self, laws: Tensor) -> Tensor:
        """By inversion: several times faster than torch.multinomial."""
        below = laws.cumsum(-1)
        return (below <= self.uniform(len(laws), 1) * below[:, -1:]).sum(-1).clamp_max(VOCAB - 1)

    def draft(self, pick=None) -> None:
        last, drafts, p, q = self.last, [], [], []
        for _ in range(GAMMA):
            p.append(P[1 + last])
            q.append(Q[1 + last])
            last = (pick or self.draw)(q[-1])
            drafts.append(last)
        self.drafts, self.p, self.q = (torch.stack(x, 1) for x in (drafts, p, q))
        self.bonus = self.draw(P[1 + last])

    def verify(self, change=None) -> tuple[Tensor, Tensor]:
        """(committed [n, γ + 1] padded with -1, kept [n]) by the shipped rule, its draws changed or not."""
        arguments = {
            "draft_token_ids": self.drafts.reshape(-1),
            "cu_num_draft_tokens": torch.arange(1, len(self.last) + 1) * GAMMA,
            "target_probs": self.p.reshape(-1, VOCAB),
            "draft_probs": self.q.reshape(-1, VOCAB),
            "bonus_token_ids": self.bonus,
        }
        if change is None:
            verdict = verify(self.rule, **arguments, generator=self.generator)
        else:
            round_ = Round(**arguments, point_mass=None)
            verdict = RULES[self.rule].decide(round_, change(Draws.from_generator(round_, self.generator)))
        return verdict.token_ids, verdict.num_accepted

    def at_cut(self, x: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
        """Requests that were cut, and their row of x there."""
        cut = (kept < GAMMA).nonzero().squeeze(-1)
        return cut, x[cut, kept[cut]]


def shipped(r):
    r.draft()
    return r.verify()


def repaired_by(law):
    """The shipped decision, with the repair drawn from another law."""

    def mutant(r):
        r.draft()
        tokens, kept = r.verify()
        cut, p = r.at_cut(r.p, kept)
        tokens[cut, kept[cut]] = r.draw(law(p, r.at_cut(r.q, kept)[1], r.at_cut(r.drafts, kept)[1]))
        return tokens, kept

    return mutant


def told_another(change):
    """The shipped rule on changed inputs."""

    def mutant(r):
        r.draft()
        change(r)
        return r.verify()

    return mutant


def drawn_by(change):
    """The shipped rule on changed draws."""

    def mutant(r):
        r.draft()
        return r.verify(change)

    return mutant


def accepted_by(probability, uniforms=lambda r: r.uniform(len(r.last), GAMMA)):
    """The token rule with another acceptance, and the right residual."""

    def mutant(r):
        r.draft()
        x = r.drafts.unsqueeze(-1)
        passed = uniforms(r) < probability(r.p.gather(-1, x).squeeze(-1), r.q.gather(-1, x).squeeze(-1))
        return commit(r, passed.long().cumprod(-1).sum(-1), r.draw)

    return mutant


def commit(r, kept, draw):
    tokens = torch.full((len(r.last), GAMMA + 1), -1)
    keep = torch.arange(GAMMA) < kept.unsqueeze(-1)
    tokens[:, :GAMMA][keep] = r.drafts[keep]
    cut, p = r.at_cut(r.p, kept)
    tokens[cut, kept[cut]] = draw(residual(p, r.at_cut(r.q, kept)[1]))
    whole = kept == GAMMA
    tokens[whole, GAMMA] = r.bonus[whole]
    return tokens, kept


def reused_noise(r):
    """The residual is drawn with the noise that drew the draft (an exponential race)."""
    noises = []

    def race(laws):
        noises.append(-torch.log(r.uniform(*laws.shape)))
        return (laws / noises[-1]).argmax(-1)

    r.draft(race)
    tokens, kept = r.verify()
    cut, p = r.at_cut(r.p, kept)
    noise = torch.stack(noises, 1)[cut, kept[cut]]
    tokens[cut, kept[cut]] = (residual(p, r.at_cut(r.q, kept)[1]) / noise).argmax(-1)
    return tokens, kept


def greedy_drafts_with_a_soft_q(r):
    r.draft(lambda laws: laws.argmax(-1))
    return r.verify()


def block_weights(r):
    x = r.drafts.unsqueeze(-1)
    ratio = (r.p.gather(-1, x) / r.q.gather(-1, x)).squeeze(-1)
    weights = [torch.ones(len(r.last), dtype=torch.float64)]
    for i in range(GAMMA):
        weights.append((weights[-1] * ratio[:, i]).clamp_max(1))
    return torch.stack(weights, 1)


def token_decisions_with_blocks_residual(r):
    r.draft()
    rule, r.rule = r.rule, "token"
    tokens, kept = r.verify()
    r.rule = rule
    cut, p = r.at_cut(r.p, kept)
    weight = block_weights(r)[cut, kept[cut]].unsqueeze(-1)
    tokens[cut, kept[cut]] = r.draw(residual(weight * p, r.at_cut(r.q, kept)[1]))
    return tokens, kept


def block_ignored(r):
    r.rule = "token"
    return shipped(r)


def block_that_breaks_early(r):
    """Block's acceptance, but stopping at the first prefix that may not be kept."""
    r.draft()
    weights = block_weights(r)
    missing = (weights[:, :GAMMA].unsqueeze(-1) * r.p - r.q).clamp_min(0).sum(-1)
    gap = missing[:, 1:] + 1 - weights[:, 1:GAMMA]
    may = torch.cat([torch.where(gap > 1e-12, missing[:, 1:] / gap.clamp_min(1e-12), 1.0), weights[:, GAMMA:]], 1)
    kept = (r.uniform(len(r.last), GAMMA) < may).long().cumprod(-1).sum(-1)
    tokens, _ = commit(r, kept, r.draw)
    cut, p = r.at_cut(r.p, kept)
    tokens[cut, kept[cut]] = r.draw(residual(weights[cut, kept[cut]].unsqueeze(-1) * p, r.at_cut(r.q, kept)[1]))
    return tokens, kept


def bonus_after_rejection(r):
    tokens, kept = shipped(r)
    short = (kept < GAMMA).nonzero().squeeze(-1)
    tokens[short, kept[short] + 1] = r.bonus[short]
    return tokens, kept


def kept_after_a_rejection(r):
    """Raw accepts are counted instead of the prefix."""
    r.draft()
    x = r.drafts.unsqueeze(-1)
    passed = r.uniform(len(r.last), GAMMA) * r.q.gather(-1, x).squeeze(-1) < r.p.gather(-1, x).squeeze(-1)
    return commit(r, passed.sum(-1), r.draw)


def tied_acceptance_and_repair(r):
    """One uniform decides and repairs."""
    r.draft()
    x = r.drafts.unsqueeze(-1)
    u = r.uniform(len(r.last), GAMMA)
    passed = u * r.q.gather(-1, x).squeeze(-1) < r.p.gather(-1, x).squeeze(-1)
    kept = passed.long().cumprod(-1).sum(-1)
    _, again = r.at_cut(u, kept)

    def invert(laws):
        return (laws.cumsum(-1) <= again.unsqueeze(-1) * laws.sum(-1, keepdim=True)).sum(-1).clamp_max(VOCAB - 1)

    return commit(r, kept, invert)


def submission_depends_on_the_token(r):
    """Token 2 is drawn but not sent: the request is then served as if nothing had been drafted there."""
    r.draft()
    tokens, kept = r.verify()
    dropped = (r.drafts == 2).long().cumsum(-1) > 0
    first = (~dropped).sum(-1)
    cut = (first < GAMMA) & (kept >= first)
    kept = torch.where(cut, first, kept)
    rows = cut.nonzero().squeeze(-1)
    tokens[rows, kept[rows]] = r.draw(r.p[rows, kept[rows]])
    tokens[torch.arange(GAMMA + 1) > kept.unsqueeze(-1)] = -1
    return tokens, kept


def shift(x):
    return torch.cat([x[:, 1:], x[:, -1:]], 1)


MUTANTS = {
    # Those that shipped in engines, and the control of an exact rule that was asked for and silently not used.
    ("token", "residual reuses the draft's noise"): reused_noise,
    ("token", "q of another position"): told_another(lambda r: setattr(r, "q", shift(r.q))),
    ("token", "greedy drafts with a soft q"): greedy_drafts_with_a_soft_q,
    ("block", "token decisions, block's residual"): token_decisions_with_blocks_residual,
    ("block", "block ignored"): block_ignored,
    ("token", "temperature lost"): told_another(lambda r: setattr(r, "p", torch.softmax(r.p.log() / 0.8, -1))),
    # Further planted mistakes.
    ("token", "repair from the whole of p"): repaired_by(lambda p, q, x: p),
    ("token", "repair from |p - q|"): repaired_by(lambda p, q, x: (p - q).abs()),
    ("token", "repair by argmax"): repaired_by(
        lambda p, q, x: (residual(p, q) == residual(p, q).amax(-1, True)).double()
    ),
    ("token", "repair excludes the draft only"): repaired_by(
        lambda p, q, x: residual(p, torch.nn.functional.one_hot(x, VOCAB).double())
    ),
    ("token", "target row off by one"): told_another(lambda r: setattr(r, "p", shift(r.p))),
    ("token", "q clipped at .3"): told_another(lambda r: setattr(r, "q", r.q.clamp_min(0.3))),
    ("token", "stale q of the round's first position"): told_another(
        lambda r: setattr(r, "q", r.q[:, :1].expand(-1, GAMMA, -1))
    ),
    ("token", "accepted with p instead of p/q"): accepted_by(lambda p, q: p),
    ("token", "accepted with q/p"): accepted_by(lambda p, q: q / p),
    ("token", "accepted always"): accepted_by(lambda p, q: torch.ones_like(p)),
    ("token", "one uniform for all positions"): accepted_by(
        lambda p, q: p / q, lambda r: r.uniform(len(r.last), 1).expand(-1, GAMMA)
    ),
    ("token", "one uniform accepts and repairs"): tied_acceptance_and_repair,
    ("token", "raw accepts counted, not the prefix"): kept_after_a_rejection,
    ("token", "bonus after a rejection"): bonus_after_rejection,
    ("token", "bonus from the draft's law"): told_another(
        lambda r: setattr(r, "bonus", r.draw(Q[1 + r.drafts[:, -1]]))
    ),
    ("token", "whether a draft is sent depends on it"): submission_depends_on_the_token,
    ("block", "block breaks at the first failure"): block_that_breaks_early,
    # Keyed draws.
    ("token", "one key accepts and repairs"): drawn_by(
        lambda d: replace(d, accept=uniform(d.own), repair=uniform(d.own))
    ),
    ("gumbel", "one key for all positions"): drawn_by(
        lambda d: replace(d, own=d.own.reshape(-1, GAMMA)[:, :1].expand(-1, GAMMA).reshape(-1))
    ),
    ("gumbel", "own draw replaced by one from the residual"): repaired_by(lambda p, q, x: residual(p, q)),
    ("gumbel", "own draw replaced by another from p"): repaired_by(lambda p, q, x: p),
    ("gumbel", "own draw made from q"): told_another(lambda r: setattr(r, "p", r.q)),
}
