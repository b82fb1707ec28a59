"""What the law test comes to: for each arm and sampling, is the law the target's?"""

from collections.abc import Sequence
from typing import Any

from verispec_bench.exactness.bins import Pair, bin_shares, choose_bins
from verispec_bench.exactness.chunk_file import ChunkFile
from verispec_bench.exactness.chunks import Chunk
from verispec_bench.exactness.completions import Completion
from verispec_bench.exactness.law import Floats, LawTest, compare_laws, holm
from verispec_bench.scenario import BASELINE, Exactness

FAMILY_WISE_ERROR = 1e-3
"""Chance that an exact run shows a deviation anywhere, over all its tests."""
ANCHOR_TV = 0.0485
"""For scale: median TV of a bug that shipped (the verifier's q was not the q that the drafts were sampled from)."""


def summarise_law(
    exactness: Exactness, arms: Sequence[str], chunks: Sequence[Chunk], kept: ChunkFile[Completion]
) -> dict[str, Any]:
    """The law's part of verify.json: one test for each arm and sampling; all chunks must be finished."""
    tests = [
        _test(exactness, sampling, arm, chunks, kept) for arm in arms for sampling in range(len(exactness.sampling))
    ]
    for test, p_holm in zip(tests, holm([test["p_value"] for test in tests]), strict=True):
        test["p_holm"] = p_holm
        test["verdict"], test["reasons"] = _verdict(test, exactness)
    return {
        "max_tv": exactness.max_tv,
        "anchor_tv": ANCHOR_TV,
        "family_wise_error": FAMILY_WISE_ERROR,
        "closed": all(test["verdict"] == "closed" for test in tests),
        "tests": tests,
    }


def _test(
    exactness: Exactness, sampling: int, arm: str, chunks: Sequence[Chunk], kept: ChunkFile[Completion]
) -> dict[str, Any]:
    def by_prompt(part: str, name: str) -> list[list[Completion]]:
        ours = [chunk for chunk in chunks if (chunk.part, chunk.sampling, chunk.arm) == (part, sampling, name)]
        made = [completion for chunk in ours for completion in kept.get(chunk)]
        return [[c for c in made if c.prompt == prompt] for prompt in range(len(exactness.prompts))]

    bins = [choose_bins(_token_ids(pilot)) for pilot in by_prompt("pilot", BASELINE)]
    baseline, tested = by_prompt("test", BASELINE), by_prompt("test", arm)
    ours, theirs = (
        [bin_shares(_token_ids(sample), own) for sample, own in zip(side, bins, strict=True)]
        for side in (baseline, tested)
    )
    law = compare_laws(ours, theirs)
    made = [completion for sample in tested for completion in sample]
    completions, positions = len(made), len(made) * (exactness.tokens - 1)
    drafted, accepted = sum(c.draft_tokens for c in made), sum(c.accepted_tokens for c in made)
    return {
        "arm": arm,
        "baseline": BASELINE,
        "sampling": exactness.sampling[sampling].model_dump(),
        "completions": completions,
        "baseline_completions": sum(map(len, baseline)),
        "tested_tokens": positions,
        "rounds": sum(c.rounds for c in made),
        "draft_tokens": drafted,
        "accepted_tokens": accepted,
        "drafted_share": sum(c.drafted_positions for c in made) / positions,
        "acceptance_rate": accepted / drafted if drafted else None,
        **_law_columns(law),
        "completions_needed": round(completions * law.size_factor(exactness.max_tv)),
        "prompts": [
            _frequencies(text, own, before, after)
            for text, own, before, after in zip(exactness.prompts, bins, ours, theirs, strict=True)
        ],
    }


def _token_ids(completions: Sequence[Completion]) -> list[list[int]]:
    return [completion.token_ids for completion in completions]


def _law_columns(law: LawTest) -> dict[str, float]:
    return {
        "tv": law.tv,
        "tv_floor": law.tv_floor,
        "tv_upper_95": law.tv_upper,
        "tv_upper_95_if_exact": law.tv_upper_if_exact(),
        "statistic": law.statistic,
        "degrees_of_freedom": law.degrees_of_freedom,
        "p_value": law.p_value,
    }


def _frequencies(text: str, bins: Sequence[Pair], ours: Floats, theirs: Floats) -> dict[str, Any]:
    """How often each pair of neighbouring tokens was seen (None: all others): where a TV comes from."""
    return {
        "prompt": text,
        "pairs": [*map(list, bins), None],
        "baseline": [*ours.mean(axis=0)[: len(bins)].tolist(), float(ours.mean(axis=0)[-1])],
        "arm": [*theirs.mean(axis=0)[: len(bins)].tolist(), float(theirs.mean(axis=0)[-1])],
    }


def _verdict(test: dict[str, Any], exactness: Exactness) -> tuple[str, list[str]]:
    """The verdict, and why it is not "closed"."""
    if test["p_holm"] < FAMILY_WISE_ERROR:
        reason = f"its law is not the target's: TV {test['tv']:.4f} where {test['tv_floor']:.4f} is sampling noise"
        return "deviates", [reason]
    if not test["draft_tokens"]:
        return "not drafted", ["nothing was drafted: this says nothing of the verifier"]
    if test["drafted_share"] < exactness.min_drafted:
        return "not drafted", [
            f"only {test['drafted_share']:.0%} of the tested tokens came from a step with a draft, "
            f"{exactness.min_drafted:.0%} are asked for (exactness.min_drafted): this says too little of the verifier"
        ]
    if test["tv_upper_95"] > exactness.max_tv:
        return "too wide", [
            f"no deviation was found, but the bound {test['tv_upper_95']:.4f} is above {exactness.max_tv:g} "
            f"(exactness.max_tv); with {test['completions_needed']} completions an exact arm passes 95 times in 100"
        ]
    return "closed", []
