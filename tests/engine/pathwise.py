"""Runs one tiny engine in a process of its own and reports, as JSON, the texts of seeded requests under each drafter.

python -m tests.engine.pathwise MODEL_DIR '{"speculative_config": …, "additional_config": …}'

A target-only engine reports them once; a speculative one for drafters that draft nothing, the same token again, and
random tokens in random numbers; each time among unseeded requests, in another order.
"""

import json
import os
import random
import sys

os.environ |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}

from vllm import LLM, SamplingParams

from verispec.drafting import Proposal

VOCAB = 16
SEEDED = [
    {"temperature": 1.0},
    {"temperature": 0.7, "top_p": 0.8},
    {"temperature": 1.3, "top_k": 6},
    {"temperature": 1.0, "repetition_penalty": 1.2, "min_p": 0.05},
    {"temperature": 1.0, "logit_bias": {3: 1.0}, "min_tokens": 12, "stop_token_ids": [5, 9]},
]
REQUESTS = 40


class Drafts:
    """A drafter made of a function from (history, most tokens) to a draft."""

    def __init__(self, draft) -> None:
        self._draft = draft

    def propose(self, requests):
        return [Proposal(self._draft(request.token_ids, request.max_tokens)) for request in requests]

    def forget(self, request_ids):
        pass


RANDOM = random.Random(3)
DRAFTERS = {
    "nothing": Drafts(lambda history, most: []),
    "the same again": Drafts(lambda history, most: [int(history[-1])] * most),
    "random": Drafts(lambda history, most: [RANDOM.randrange(VOCAB) for _ in range(RANDOM.randint(0, most))]),
}


def prompt(i: int) -> list[int]:
    """Some are longer than a step's token budget: their prefill is chunked."""
    source = random.Random(i)
    return [source.randrange(VOCAB) for _ in range(4 + 9 * (i % 9))]


def texts(llm, order: random.Random) -> list[list[int]]:
    """The seeded requests' tokens, whatever is served beside them."""
    batch: list[tuple[int | None, SamplingParams]] = [
        (i, SamplingParams(max_tokens=24, seed=1000 + i, detokenize=False, **SEEDED[i % len(SEEDED)]))
        for i in range(REQUESTS)
    ]
    batch += [(None, SamplingParams(max_tokens=9, temperature=1.0, detokenize=False)) for _ in range(15)]
    order.shuffle(batch)
    inputs = [{"prompt_token_ids": prompt(7 if i is None else i)} for i, _ in batch]
    outputs = llm.generate(inputs, [params for _, params in batch], use_tqdm=False)
    answers = {i: list(o.outputs[0].token_ids) for (i, _), o in zip(batch, outputs, strict=True) if i is not None}
    return [answers[i] for i in range(REQUESTS)]


def main(model: str, options: str) -> None:
    llm = LLM(
        model,
        skip_tokenizer_init=True,
        enforce_eager=True,
        dtype="float32",
        max_model_len=128,
        kv_cache_memory_bytes=64 << 20,
        disable_log_stats=True,
        **json.loads(options),
    )
    runner = llm.llm_engine.engine_core.engine_core.model_executor.driver_worker.worker.model_runner
    report = {}
    if runner.speculative_config is None:
        report["target-only"] = texts(llm, random.Random(0))
    else:
        from verispec.engine import runtime

        for seed, (name, drafter) in enumerate(DRAFTERS.items()):
            runner.drafter._drafter = drafter
            report[name] = texts(llm, random.Random(seed))
        report["accepted"] = runtime.current().counters.accepted_tokens
    print()
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
