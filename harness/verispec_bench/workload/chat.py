"""`chat`: varied prompts of the project's own (chat.jsonl), which repeat little of themselves in their answers."""

from pathlib import Path

from verispec_bench.workload.jsonl import read_prompts
from verispec_bench.workload.prompt import Prompt


def prompts() -> list[Prompt]:
    """All prompts, in the file's order."""
    return read_prompts(Path(__file__).with_name("chat.jsonl"))
