"""The plan of a verification in words and data: what `--dry-run` prints."""

from typing import Any

from verispec_bench.exactness.table import sampling_text
from verispec_bench.exactness.verify import PreparedVerification
from verispec_bench.scenario import BASELINE
from verispec_bench.server import server_command


def describe_verification(prepared: PreparedVerification) -> dict[str, Any]:
    """Samplings, completions of each server, commands and identity; `text` is for people."""
    scenario, arms = prepared.scenario, (BASELINE, *prepared.scenario.arms)
    completions = {arm: sum(chunk.completions for chunk in prepared.chunks if chunk.arm == arm) for arm in arms}
    commands = {arm: server_command(scenario, arm, prepared.interpreter, port=0).shell_line() for arm in arms}
    samplings = [sampling.model_dump() for sampling in scenario.exactness.sampling]
    lines = [
        f"{scenario.name}: {scenario.title}",
        "",
        f"completions of {scenario.exactness.tokens} tokens, of {len(scenario.exactness.prompts)} prompts, under "
        + "; ".join(map(sampling_text, samplings)),
        *(f"  {count:>7}  {arm}" for arm, count in completions.items()),
        "",
        "servers (port 0 stands for a free one)",
        *(f"  {arm}: {command}" for arm, command in commands.items()),
    ]
    return {
        "scenario": scenario.name,
        "identity_sha256": prepared.manifest["identity_sha256"],
        "sampling": samplings,
        "completions": completions,
        "servers": commands,
        "text": "\n".join(lines),
    }
