"""`mixed`: code editing, chat and summaries in turn: a batch holds requests that gain and others that do not."""

from itertools import chain

from verispec_bench.workload import chat, code_edit, summarise
from verispec_bench.workload.prompt import Prompt


def prompts() -> list[Prompt]:
    """As many of each kind as the smallest has."""
    return list(chain.from_iterable(zip(code_edit.prompts(), chat.prompts(), summarise.prompts(), strict=False)))
