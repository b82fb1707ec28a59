"""Prompts and answers as long as those of a recorded trace; the texts are the standard library's."""

from pathlib import Path

from verispec_bench.arrival.trace import read_trace
from verispec_bench.workload.exact_length import CHARS_PER_TOKEN
from verispec_bench.workload.prompt import Prompt
from verispec_bench.workload.standard_library import Kind, windows


def prompts(file: Path, of: Kind, requests: int | None, seed: int) -> list[Prompt]:
    """One prompt for each line, in the trace's own order; the seed says which text goes with which line.

    Args:
        requests: only the first so many lines.

    Raises:
        UnusableInput: the file cannot be used, or has more lines than there are texts.

    """
    lines = read_trace(file)[:requests]
    texts = windows(of, [2 * CHARS_PER_TOKEN * line.input_len for line in lines], seed)
    return [
        Prompt(
            f"trace-{number}-{section.id}",
            section.text,
            input_len=line.input_len,
            output_len=line.output_len,
            at_s=line.at_s,
        )
        for number, (line, section) in enumerate(zip(lines, texts, strict=True))
    ]
