"""One tiny engine in this process, and what it answers when it is stepped by hand."""

import os

os.environ |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}

from collections.abc import Callable

from vllm import LLM
from vllm.sampling_params import RequestOutputKind

from tests.engine.answers import Answer
from tests.engine.mixed import Asked

MAX_MODEL_LEN = 128
DRAFTS = 4
NEVER_FOR_LONG = {"cooldown_s": 1e-9, "stall_s": 600, "min_acceptance": 0, "at_preemption": False}
"""Fallback ends before the next step: whatever a drafter does, it is asked again."""


SUBMIT_ALL = {"mode": "fixed"}
"""What is drafted is verified, whether it pays or not."""


class Engine:
    """A tiny target, with or without speculation; `options` go to vLLM's LLM."""

    def __init__(self, model: str, **options) -> None:
        defaults = {
            "enforce_eager": True,
            "dtype": "float32",
            "max_model_len": MAX_MODEL_LEN,
            "max_num_seqs": 64,
            "kv_cache_memory_bytes": 64 << 20,
            "block_size": 32,
            "max_logprobs": -1,
            "disable_log_stats": False,
            "logprobs_mode": "processed_logprobs",
            "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
            "additional_config": {"verispec": {"fallback": NEVER_FOR_LONG, "control": SUBMIT_ALL}},
        }
        self.llm = LLM(model, **(defaults | options))
        self.engine = self.llm.llm_engine
        core = self.engine.engine_core.engine_core
        self.scheduler = core.scheduler
        self.runner = core.model_executor.driver_worker.worker.model_runner
        self.tokenizer = self.llm.get_tokenizer()

    def draft_by(self, drafter) -> None:
        self.runner.drafter._drafter = drafter

    def serve(
        self,
        asked: list[Asked],
        kind: RequestOutputKind = RequestOutputKind.DELTA,
        after_step: Callable[[dict[str, Answer]], None] = lambda answers: None,
    ) -> dict[str, Answer]:
        """Answers by name; after_step is called between the engine's steps with the answers so far."""
        answers = {}
        for one in asked:
            answers[one.name] = Answer()
            params = one.params(kind)
            self.engine.add_request(one.name, {"prompt_token_ids": one.prompt}, params)
        while self.engine.has_unfinished_requests():
            for output in self.engine.step():
                _take(answers[output.request_id], output, kind)
            after_step(answers)
        return answers


def name_of(request_id: str) -> str:
    """The name that a request was given; vLLM appends a random part."""
    return request_id.rsplit("-", 1)[0]


def _take(answer: Answer, output, kind: RequestOutputKind) -> None:
    (completion,) = output.outputs
    token_ids = list(completion.token_ids)
    logprobs = None if completion.logprobs is None else [_values(row) for row in completion.logprobs]
    if kind == RequestOutputKind.DELTA:
        answer.token_ids += token_ids
        answer.text += completion.text
        if logprobs is not None:
            answer.logprobs = (answer.logprobs or []) + logprobs
        if token_ids or completion.text:
            answer.chunks.append((token_ids, completion.text))
    else:
        answer.token_ids, answer.text, answer.logprobs = token_ids, completion.text, logprobs
    if output.prompt_logprobs:
        answer.prompt_logprobs = [_values(row) for row in output.prompt_logprobs if row]
    if output.finished:
        answer.finish_reason, answer.stop_reason = completion.finish_reason, completion.stop_reason
        answer.counted = output.metrics.num_generation_tokens if output.metrics else None
        answer.cached = output.num_cached_tokens


def _values(row) -> dict[int, float]:
    return {token: value.logprob for token, value in row.items()}
