"""From a scenario's workload to its prompts."""

from pathlib import Path
from random import Random

from verispec_bench.errors import UnusableInput
from verispec_bench.model import resolve_model
from verispec_bench.scenario import workloads as spec
from verispec_bench.workload import (
    chat,
    code_edit,
    exact_length,
    mixed,
    multi_turn,
    random_ids,
    shared_prefix,
    summarise,
    trace,
)
from verispec_bench.workload.jsonl import read_prompts
from verispec_bench.workload.prompt import Prompt
from verispec_bench.workload.vocabulary import Vocabulary, read_vocabulary
from verispec_bench.workload.workload import Workload

BUILT_IN = {
    "chat": chat.prompts,
    "code-edit": code_edit.prompts,
    "mixed": mixed.prompts,
    "summarise": summarise.prompts,
}


def load_workload(workload: spec.Workload | str, seed: int, base: Path = Path(), model: str | None = None) -> Workload:
    """A workload with all its prompts in a seeded order.

    Args:
        base: directory that relative file names count from.
        model: as in the scenario; random tokens are drawn from its vocabulary.

    Raises:
        UnusableInput: a file or the model cannot be used.

    """
    match workload:
        case str() if workload in BUILT_IN:
            return Workload(workload, _shuffled(BUILT_IN[workload](), seed))
        case str():
            raise UnusableInput(f"no workload {workload!r}; built in are {', '.join(BUILT_IN)}")
        case spec.WorkloadFile(name=name):
            return Workload(name, _shuffled(read_prompts(base / workload.file), seed))
        case spec.FixedLength(name=name):
            return exact_length.FixedLength(name, exact_length.texts(workload.of, seed), needs_input_len=True)
        case spec.MultiTurn(name=name):
            turns = multi_turn.prompts(base / workload.file if workload.file else None, seed)
            return Workload(name, tuple(turns), shares_prefix=True)
        case spec.SharedPrefix(name=name):
            return Workload(name, _shuffled(shared_prefix.prompts(workload.prefix_chars), seed), shares_prefix=True)
        case spec.RandomIds(name=name):
            return random_ids.RandomIds(
                name,
                random_ids.unfilled(seed),
                needs_input_len=True,
                not_for_speedup=random_ids.REASON,
                vocabulary=_vocabulary(workload, model),
            )
        case spec.Trace(name=name):
            prompts = trace.prompts(base / workload.file, workload.of, workload.requests, seed)
            return exact_length.FixedLength(name, tuple(prompts))


def load_prompts(workload: spec.Workload | str, seed: int, base: Path = Path()) -> list[Prompt]:
    """All prompts of a workload; raises as load_workload."""
    return list(load_workload(workload, seed, base).prompts)


def _shuffled(prompts: list[Prompt], seed: int) -> tuple[Prompt, ...]:
    Random(seed).shuffle(prompts)
    return tuple(prompts)


def _vocabulary(workload: spec.RandomIds, model: str | None) -> Vocabulary:
    if workload.vocab_size:
        return Vocabulary(tuple(range(workload.vocab_size)))
    directory = Path(resolve_model(model)) if model else None
    if directory is None or not directory.is_dir():
        raise UnusableInput(
            f"workload {workload.name}: the vocabulary of {model or 'the model'} is not known here; give vocab_size"
        )
    return read_vocabulary(directory)
