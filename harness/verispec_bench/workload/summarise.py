"""`summarise`: a passage of documentation and a task whose answer restates or quotes it."""

from verispec_bench.workload.prompt import Prompt
from verispec_bench.workload.standard_library import sections

MIN_CHARS, MAX_CHARS = 600, 3000
TASKS = (
    "Summarise this passage in three sentences.",
    "List the main points of this passage, in its own words where you can.",
    "Which sentence of this passage matters most to somebody who has never used this? Quote it and say why.",
    "What can go wrong here according to this passage? Answer from the passage only.",
)


def prompts() -> list[Prompt]:
    """One prompt for each suitable passage of the standard library's documentation, the tasks in turn."""
    passages = [section for section in sections("prose") if MIN_CHARS <= len(section.text) <= MAX_CHARS]
    return [
        Prompt(f"summarise-{section.id}", f"{TASKS[number % len(TASKS)]}\n\n{section.text}")
        for number, section in enumerate(passages)
    ]
