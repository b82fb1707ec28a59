"""A world small enough to enumerate, in which the shipped rules are seen to be right and the tempting mistake wrong.

Three tokens, a target and a draft law that depend on the token before, γ = 3, sequences of 4 tokens. What is sampled
goes through verispec.coupling.verify; what is enumerated is exact arithmetic on the same laws.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import torch
from torch import Tensor

from verispec.coupling import overlap, residual, total_variation, verify, verify_paths
from verispec_bench.speedmodel import WORKED, break_even

START_P, START_Q = (0.50, 0.30, 0.20), (0.60, 0.10, 0.30)
AFTER_P = ((0.20, 0.55, 0.25), (0.15, 0.25, 0.60), (0.65, 0.20, 0.15))
AFTER_Q = ((0.30, 0.50, 0.20), (0.25, 0.20, 0.55), (0.55, 0.30, 0.15))
GAMMA, LENGTH, VOCAB = 3, 4, 3
TRIALS = 150_000
FACES, PATHS = 100, 4


@dataclass(frozen=True)
class World:
    """A law over sequences: at the start, and after each token."""

    start: Tensor
    after: Tensor

    def rows(self, last: Tensor) -> Tensor:
        """Next-token law after each last token, float64 [n, vocab]; -1 stands for the start."""
        return torch.where((last < 0).unsqueeze(-1), self.start, self.after[last.clamp_min(0)])

    def sequence_law(self) -> Tensor:
        """Probability of each of the 81 sequences of 4 tokens, in lexicographic order."""
        law = []
        for sequence in product(range(VOCAB), repeat=LENGTH):
            chance = float(self.start[sequence[0]])
            for before, token in pairwise(sequence):
                chance *= float(self.after[before, token])
            law.append(chance)
        return torch.tensor(law, dtype=torch.float64)


def _world(start: tuple[float, ...], after: tuple[tuple[float, ...], ...]) -> World:
    return World(torch.tensor(start, dtype=torch.float64), torch.tensor(after, dtype=torch.float64))


TARGET, DRAFT = _world(START_P, AFTER_P), _world(START_Q, AFTER_Q)


def speculative_sequences(trials: int, generator: torch.Generator, *, wrong_repair: bool = False) -> Tensor:
    """Sample sequences by rounds of γ drafts and the token rule, int64 [trials, 4].

    Args:
        wrong_repair: after a rejection draw from the whole of p instead of the residual: the mistake, for comparison.

    """
    sequences = torch.full((trials, LENGTH + GAMMA + 1), -1)
    lengths = torch.zeros(trials, dtype=torch.int64)
    while (lengths < LENGTH).any():
        rows = (lengths < LENGTH).nonzero().squeeze(-1)
        last = torch.where(lengths[rows] > 0, sequences[rows, (lengths[rows] - 1).clamp_min(0)], -1)
        committed = _round(last, generator, wrong_repair)
        for offset in range(GAMMA + 1):
            some = committed[:, offset] >= 0
            sequences[rows[some], lengths[rows[some]] + offset] = committed[some, offset]
        lengths[rows] += (committed >= 0).sum(dim=-1)
    return sequences[:, :LENGTH]


def _round(last: Tensor, generator: torch.Generator, wrong_repair: bool) -> Tensor:
    """One round for requests whose last token is given: committed tokens, int64 [n, γ + 1], padded with -1."""
    drafts, p, q = [], [], []
    for _ in range(GAMMA):
        p.append(TARGET.rows(last))
        q.append(DRAFT.rows(last))
        last = torch.multinomial(q[-1], 1, generator=generator).squeeze(-1)
        drafts.append(last)
    target_probs = torch.stack(p, 1).view(-1, VOCAB)
    verdict = verify(
        "token",
        draft_token_ids=torch.stack(drafts, 1).view(-1),
        cu_num_draft_tokens=torch.arange(GAMMA, GAMMA * len(last) + 1, GAMMA),
        target_probs=target_probs,
        draft_probs=torch.stack(q, 1).view(-1, VOCAB),
        bonus_token_ids=torch.multinomial(TARGET.rows(last), 1, generator=generator).squeeze(-1),
        generator=generator,
    )
    if wrong_repair:
        cut = (verdict.num_accepted < GAMMA).nonzero().squeeze(-1)
        whole = target_probs[cut * GAMMA + verdict.num_accepted[cut]]
        verdict.token_ids[cut, verdict.num_accepted[cut]] = torch.multinomial(whole, 1, generator=generator).squeeze(-1)
    return verdict.token_ids


def target_sequences(trials: int, generator: torch.Generator) -> Tensor:
    """Sample sequences by the target alone, int64 [trials, 4]."""
    last, tokens = torch.full((trials,), -1), []
    for _ in range(LENGTH):
        last = torch.multinomial(TARGET.rows(last), 1, generator=generator).squeeze(-1)
        tokens.append(last)
    return torch.stack(tokens, 1)


def enumerated_law(repair: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Law of 4 tokens under rounds of γ drafts, for a way to repair rejections; float64 [81].

    Given the token before, a drafted position keeps token x with probability min(p, q)(x) and else repairs, which ends
    its round; after γ kept drafts the target draws the next token itself.
    """
    law: dict[tuple[int, ...], float] = dict.fromkeys(product(range(VOCAB), repeat=LENGTH), 0.0)

    def extend(prefix: tuple[int, ...], drafted: int, chance: float) -> None:
        if len(prefix) == LENGTH:
            law[prefix] += chance
            return
        last = torch.tensor([prefix[-1] if prefix else -1])
        p, q = TARGET.rows(last)[0], DRAFT.rows(last)[0]
        if drafted == GAMMA:
            kept, repaired = torch.zeros_like(p), p
        else:
            kept, repaired = torch.minimum(p, q), total_variation(p, q) * repair(p, q)
        for token in range(VOCAB):
            if kept[token] > 0:
                extend((*prefix, token), drafted + 1, chance * float(kept[token]))
            if repaired[token] > 0:
                extend((*prefix, token), 0, chance * float(repaired[token]))

    extend((), 0, 1.0)
    return torch.tensor(list(law.values()), dtype=torch.float64)


def frequencies(sequences: Tensor) -> Tensor:
    """How often each of the 81 sequences came, as a law."""
    places = VOCAB ** torch.arange(LENGTH - 1, -1, -1)
    return torch.bincount((sequences * places).sum(-1), minlength=VOCAB**LENGTH).double() / len(sequences)


def identical_uniform(trials: int, generator: torch.Generator) -> dict[str, float]:
    """Two uniform laws on 100 faces: independent draws against the coupling."""
    p = torch.full((1, FACES), 1 / FACES, dtype=torch.float64).expand(trials, FACES)
    first, second = (torch.randint(0, FACES, (trials,), generator=generator) for _ in range(2))
    verdict = verify(
        "token",
        draft_token_ids=first,
        cu_num_draft_tokens=torch.arange(1, trials + 1),
        target_probs=p,
        draft_probs=p,
        bonus_token_ids=second,
        generator=generator,
    )
    return {
        "independent_match_rate": float((first == second).double().mean()),
        "coupled_match_rate": float(verdict.num_accepted.double().mean()),
    }


def several_paths(trials: int, generator: torch.Generator) -> list[dict[str, float]]:
    """The first position under 1, 2, … candidates: how often one of them is kept, and the law that is committed."""
    p, q = TARGET.start, DRAFT.start
    found = []
    for paths in range(1, PATHS + 1):
        drafts = torch.multinomial(q, trials * paths, replacement=True, generator=generator).view(trials, paths)
        verdict = verify_paths(
            draft_token_ids=drafts.unsqueeze(-1),
            target_probs=torch.stack([p.expand(trials, paths, VOCAB), TARGET.rows(drafts)], dim=2),
            draft_probs=q.expand(trials, paths, 1, VOCAB),
            generator=generator,
        )
        law = torch.bincount(verdict.token_ids[:, 0], minlength=VOCAB).double() / trials
        kept = float(verdict.num_accepted.double().mean())
        found.append({"paths": paths, "kept": kept, "tv_to_target": float(total_variation(law, p))})
    return found


def run_lab(seed: int = 0, trials: int = TRIALS) -> dict[str, Any]:
    """Everything the lab shows; `passed` says whether it came out as theory says."""
    generator = torch.Generator().manual_seed(seed)
    p, q = TARGET.start, DRAFT.start
    exact = TARGET.sequence_law()
    baseline = frequencies(target_sequences(trials, generator))
    speculative = frequencies(speculative_sequences(trials, generator))
    wrong = frequencies(speculative_sequences(trials, generator, wrong_repair=True))
    check = {
        "trials": trials,
        "tv_baseline_vs_exact": float(total_variation(baseline, speculative)),
        "tv_baseline_vs_wrong": float(total_variation(baseline, wrong)),
        "tv_sampling_floor": float(total_variation(baseline, frequencies(target_sequences(trials, generator)))),
        "tv_enumerated_exact": float(total_variation(exact, enumerated_law(residual))),
        "tv_enumerated_wrong": float(total_variation(exact, enumerated_law(lambda p, q: p))),
    }
    uniform = identical_uniform(10 * FACES * FACES, generator)
    noise = max(1.0, (TRIALS / trials) ** 0.5)
    passed = (
        check["tv_baseline_vs_exact"] < 0.02 * noise
        and abs(check["tv_baseline_vs_wrong"] - 0.1403) <= 0.005 * noise
        and 0.007 < uniform["independent_match_rate"] < 0.013
        and uniform["coupled_match_rate"] == 1
    )
    return {
        "assumptions": {"gamma": GAMMA, "length": LENGTH, "trials": trials, "seed": seed},
        "first_step": {
            "p": p.tolist(),
            "q": q.tolist(),
            "acceptance": (p / q).clamp_max(1).tolist(),
            "overlap": float(overlap(p, q)),
            "total_variation": float(total_variation(p, q)),
            "residual": residual(p, q).tolist(),
            "wrong_repair_law": (torch.minimum(p, q) + total_variation(p, q) * p).tolist(),
        },
        "sequence_distribution_check": check,
        "identical_uniform_100_faces": uniform,
        "several_paths": several_paths(trials, generator),
        "speed_model": {name: break_even(worked.costs, worked.alpha) for name, worked in WORKED.items()},
        "passed": passed,
    }
