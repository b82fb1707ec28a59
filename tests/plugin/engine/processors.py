"""vLLM's own logits processors, as a model runner holds them, for requests with given sampling parameters."""

from types import SimpleNamespace

from vllm import SamplingParams
from vllm.v1.sample.logits_processor import BUILTIN_LOGITS_PROCESSORS, BatchUpdate, LogitsProcessors


def processors_of(requests: list[tuple[SamplingParams, list[int]]], *custom) -> LogitsProcessors:
    """For a batch of (parameters, output so far)."""
    config = SimpleNamespace(scheduler_config=SimpleNamespace(max_num_seqs=8))
    processors = LogitsProcessors(kind(config, "cpu", False) for kind in (*BUILTIN_LOGITS_PROCESSORS, *custom))
    added = [(row, params, [], output) for row, (params, output) in enumerate(requests)]
    for processor in processors.all:
        processor.update_state(BatchUpdate(batch_size=len(requests), removed=[], added=added, moved=[]))
    return processors


def no_processors() -> LogitsProcessors:
    return processors_of([(SamplingParams(), []), (SamplingParams(), [])])
