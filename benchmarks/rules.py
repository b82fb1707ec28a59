"""The rules against vLLM's own rejection sampler, on the same tensors: `make bench`.

Each line is one size: the median time of vLLM's `rejection_sample` over that of verispec's adapter on the same
arguments, both from transformed logits to committed tokens, interleaved. Above 1 verispec is faster. Nothing is
asserted; the numbers are for reading and for comparing with an earlier run on the same machine.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from statistics import median
from types import SimpleNamespace
from typing import Any

import torch
from vllm.platforms import current_platform

from verispec.engine.runtime import Runtime
from verispec.settings import Settings

if current_platform.is_cpu():
    current_platform.import_kernels()
    current_platform.register_triton_kernel_overrides()

from vllm.v1.sample.rejection_sampler import rejection_sample

BATCHES, WINDOWS, VOCABULARIES = (1, 4, 16, 64, 256), (1, 4, 8), (32_000, 152_064)
MAX_ELEMENTS = 64 * 8 * 49_152
"""Larger tensors are left out: on a CPU they say nothing new, and take gigabytes."""
ROUNDS = 7


@dataclass(frozen=True)
class Case:
    """One size: requests, drafts of each, vocabulary, and what kind of requests they are."""

    batch: int
    window: int
    vocab: int
    kind: str

    def arguments(self) -> list[Any]:
        """Positional arguments of rejection_sample; logits that agree with about half of the drafts."""
        generator = torch.Generator().manual_seed(0)
        rows = self.batch * self.window
        logits = torch.randn(rows, self.vocab, generator=generator)
        drafts = torch.randint(0, self.vocab, (rows,), generator=generator, dtype=torch.int32)
        agree = torch.rand(rows, generator=generator) < 0.5
        logits[agree, drafts[agree].long()] += 20
        counts = [self.window] * self.batch
        greedy = self.kind == "greedy"
        metadata = SimpleNamespace(
            all_greedy=greedy,
            all_random=not greedy,
            temperature=None if greedy else torch.ones(self.batch),
            generators={},
        )
        draft_probs = torch.randn(rows, self.vocab, generator=generator).softmax(-1) if self.kind == "with q" else None
        cumulative = torch.tensor(counts, dtype=torch.int32).cumsum(0, dtype=torch.int32)
        bonus = torch.zeros(self.batch, 1, dtype=torch.int32)
        return [drafts, counts, self.window, cumulative, draft_probs, logits, bonus, metadata]


def cases() -> Iterator[Case]:
    """All sizes that fit."""
    for kind, vocab, window, batch in product(("greedy", "point mass", "with q"), VOCABULARIES, WINDOWS, BATCHES):
        if batch * window * vocab <= MAX_ELEMENTS:
            yield Case(batch, window, vocab, kind)


def time_pair(ours: Callable[..., Any], theirs: Callable[..., Any], arguments: list[Any]) -> tuple[float, float]:
    """Median seconds of both, in turn, after one call of each."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for attempt in range(ROUNDS + 1):
        for which, function in enumerate((ours, theirs) if attempt % 2 else (theirs, ours)):
            slot = seconds[which if attempt % 2 else 1 - which]
            start = time.perf_counter()
            function(*arguments)
            slot.append(time.perf_counter() - start)
    return median(seconds[0][1:]), median(seconds[1][1:])


def main() -> None:
    """Print a line for each case and rule, then the totals; --json prints one object."""
    as_json = "--json" in sys.argv
    rows = []
    for rule in ("token", "block", "gumbel"):
        ours = Runtime(Settings(rule=rule)).verifier.adapt(rejection_sample)
        for case in cases():
            if rule != "token" and case.kind == "greedy":
                continue
            own, vllm = time_pair(ours, rejection_sample, case.arguments())
            rows.append({"rule": rule, **vars(case), "ms": 1000 * own, "vllm_ms": 1000 * vllm, "ratio": vllm / own})
            if not as_json:
                print(
                    f"{rule:<6}{case.kind:<11} batch {case.batch:>4}  window {case.window}  vocabulary {case.vocab:>7}"
                    f"{1000 * own:>10.2f} ms   vLLM {1000 * vllm:>9.2f} ms   ratio {vllm / own:5.2f}",
                    flush=True,
                )
    totals = {
        rule: sum(r["vllm_ms"] for r in rows if r["rule"] == rule) / sum(r["ms"] for r in rows if r["rule"] == rule)
        for rule in ("token", "block", "gumbel")
    }
    if as_json:
        print(json.dumps({"cases": rows, "total_ratio": totals}))
    else:
        print(f"all sizes together, vLLM / verispec: {', '.join(f'{rule} {r:.2f}' for rule, r in totals.items())}")


if __name__ == "__main__":
    main()
