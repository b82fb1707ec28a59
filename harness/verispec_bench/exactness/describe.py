"""The plan of a verification in words and data: what `--dry-run` prints."""

from collections import Counter
from typing import Any

from verispec_bench.exactness.table import sampling_text
from verispec_bench.exactness.verify import PreparedVerification
from verispec_bench.scenario import BASELINE, Exactness, Parity
from verispec_bench.server import server_command


def describe_verification(prepared: PreparedVerification) -> dict[str, Any]:
    """Samplings, completions of each server, greedy prompts, commands and identity; `text` is for people."""
    scenario, arms = prepared.scenario, (BASELINE, *prepared.scenario.arms)
    completions = {arm: sum(chunk.completions for chunk in prepared.chunks if chunk.arm == arm) for arm in arms}
    kinds = dict(Counter(prompt.kind for prompt in prepared.prompts))
    commands = {arm: server_command(scenario, arm, prepared.interpreter, port=0).shell_line() for arm in arms}
    lines = [
        f"{scenario.name}: {scenario.title}",
        *(_law_lines(scenario.exactness, completions) if scenario.exactness else ()),
        *(_parity_lines(scenario.parity, kinds) if scenario.parity else ()),
        "",
        "servers (port 0 stands for a free one)",
        *(f"  {arm}: {command}" for arm, command in commands.items()),
    ]
    return {
        "scenario": scenario.name,
        "identity_sha256": prepared.manifest["identity_sha256"],
        "sampling": [sampling.model_dump() for sampling in scenario.exactness.sampling] if scenario.exactness else [],
        "completions": completions,
        "greedy_prompts": kinds,
        "servers": commands,
        "text": "\n".join(lines),
    }


def _law_lines(exactness: Exactness, completions: dict[str, int]) -> list[str]:
    samplings = "; ".join(sampling_text(sampling.model_dump()) for sampling in exactness.sampling)
    return [
        "",
        f"completions of {exactness.tokens} tokens, of {len(exactness.prompts)} prompts, under {samplings}",
        *(f"  {count:>7}  {arm}" for arm, count in completions.items()),
    ]


def _parity_lines(parity: Parity, kinds: dict[str, int]) -> list[str]:
    return [
        "",
        f"greedy answers of at most {parity.tokens} tokens from every server, {parity.concurrency} at a time, to "
        f"{sum(kinds.values())} prompts",
        *(f"  {count:>7}  {kind}" for kind, count in kinds.items()),
        f"  of which {min(parity.envelope_prompts, sum(kinds.values()))} once more with logprobs, for the numerical "
        "envelope; where answers differ, one pass more on both servers",
    ]
