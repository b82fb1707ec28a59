"""Later turns of conversations whose replies are recorded, so that both arms see the same history.

The built-in conversations (multi_turn.jsonl) are the project's own.
"""

from pathlib import Path
from random import Random

from verispec_bench.workload.jsonl import read_conversations
from verispec_bench.workload.prompt import Prompt

BUILT_IN = Path(__file__).with_name("multi_turn.jsonl")


def prompts(file: Path | None, seed: int) -> list[Prompt]:
    """The conversations in a seeded order, the turns of each in theirs.

    Raises:
        UnusableInput: the file cannot be used.

    """
    conversations = read_conversations(file or BUILT_IN)
    Random(seed).shuffle(conversations)
    return [turn for turns in conversations for turn in turns]
