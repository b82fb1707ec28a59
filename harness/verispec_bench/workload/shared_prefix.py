"""Distinct questions under one long system text: what prefix caches are made for."""

from verispec_bench.workload import chat
from verispec_bench.workload.prompt import Message, Prompt
from verispec_bench.workload.standard_library import windows

INSTRUCTION = "You help the readers of a handbook. Answer in a few sentences. A part of the handbook:\n\n"


def prompts(prefix_chars: int) -> list[Prompt]:
    """The questions of `chat`, each after the same system text of `prefix_chars` characters."""
    (section,) = windows("prose", [prefix_chars], seed=0)
    system = Message("system", (INSTRUCTION + section.text)[:prefix_chars])
    return [Prompt(f"shared-{prompt.id}", prompt.text, (system,)) for prompt in chat.prompts()]
