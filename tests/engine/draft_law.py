"""Runs one tiny engine whose drafts a real draft model has drawn, and reports the law that it serves, as JSON.

python -m tests.engine.draft_law MODEL_DIR '{"speculative_config": …}'

vLLM's own draft_model method, sampling its drafts, so that the verifier is handed its law q: under both rules; and with
a q that cannot be the law of its drafts, which is a reason to fall back.
"""

import json
import os
import sys

os.environ |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}

import torch

from tests.engine.laws import TRANSFORMATIONS, deviation, gained, law_engine, raw_logits, serve, target_law
from verispec.coupling import RULES
from verispec.engine import runtime

REFUSED = ("min_p", "logit_bias", "custom processor", "all together")
"""By vLLM, beside a draft model."""
KINDS = tuple(name for name in TRANSFORMATIONS if name not in REFUSED)


def main(model: str, options: str) -> None:
    llm = law_engine(model, options)
    runner = llm.llm_engine.engine_core.engine_core.model_executor.driver_worker.worker.model_runner
    torch.manual_seed(1)
    logits = raw_logits(llm)
    laws = {name: target_law(logits, TRANSFORMATIONS[name]) for name in KINDS}
    state = runtime.current()

    def run() -> dict:
        before = state.counters.as_dict()
        compared = {name: deviation(laws[name], answers) for name, answers in serve(llm, KINDS).items()}
        return {
            "laws": compared,
            "trips": dict(state.fallback.trips),
            "counters": gained(before, state.counters.as_dict()),
        }

    report = {}
    for rule in ("token", "block"):
        state.verifier.rule = RULES[rule]
        report[rule] = run()
    propose = runner.propose_draft_token_ids

    def with_no_law(*args, **kwargs):
        drafts = propose(*args, **kwargs)
        if runner._draft_probs is not None:
            runner._draft_probs.zero_()
        return drafts

    runner.propose_draft_token_ids = with_no_law
    report["broken"] = run()
    print()
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
