"""Questions and tasks of every day, from the workload `chat`."""

from verispec_bench.exactness.parity.corpus.prompt import GreedyPrompt, of_kind
from verispec_bench.workload import chat


def prompts() -> list[GreedyPrompt]:
    """One for each prompt of the workload."""
    return of_kind("chat", [prompt.text for prompt in chat.prompts()], [])
