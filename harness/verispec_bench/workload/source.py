"""From a scenario's workload to its prompts."""

import hashlib
import random
from pathlib import Path

from verispec_bench.scenario.workloads import WorkloadFile
from verispec_bench.workload import chat, code_edit
from verispec_bench.workload.jsonl import read_prompts
from verispec_bench.workload.prompt import Prompt

BUILT_IN = {"chat": chat.prompts, "code-edit": code_edit.prompts}


def load_prompts(workload: str | WorkloadFile, seed: int, base: Path = Path()) -> list[Prompt]:
    """All prompts of a workload in a seeded order; a relative file name counts from `base`.

    Raises:
        UnusableInput: the file cannot be used.

    """
    if isinstance(workload, str):
        prompts = BUILT_IN[workload]()
    else:
        prompts = read_prompts(base / workload.file)
    random.Random(seed).shuffle(prompts)
    return prompts


def prompts_digest(prompts: list[Prompt]) -> str:
    """sha256 of the texts in order: what a manifest says of a workload."""
    digest = hashlib.sha256()
    for prompt in prompts:
        digest.update(prompt.text.encode() + b"\0")
    return digest.hexdigest()
