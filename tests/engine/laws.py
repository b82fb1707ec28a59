"""Runs one tiny engine in a process of its own and reports, as JSON, the law that it serves beside the target's.

python -m tests.engine.laws MODEL_DIR '{"speculative_config": …, "additional_config": …}' '["token", …]' [law]

Every sampling transformation is asked for by many requests, all mixed in one batch, once for each rule; what is tested
is the law of their first three tokens. The target's law is enumerated: raw logits at every prefix, transformed as the
definitions say, not as vLLM does. With 'law' the same drafts are at last verified as point masses, and with a q that
is not theirs: a planted mistake.
"""

import json
import os
import sys

os.environ |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import torch
from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams

from tests.engine.processors import ForbidRepeating
from verispec.control import Costs, make_controller
from verispec.coupling import RULES, overlap
from verispec.drafting import make_drafter
from verispec.engine import runtime
from verispec.settings import ControlSettings

VOCAB, EOS = 16, 2
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
LENGTH = 3
ANSWERED = LENGTH + 2
"""Tokens that are asked for: whole drafts of three are made where the tokens come whose law is tested."""
LETTERS = ["a", "b", "</s>", *"defghijklmnop"]
REQUESTS = 600
TRANSFORMATIONS: dict[str, dict] = {
    "temperature 1": {},
    "temperature .6": {"temperature": 0.6},
    "top-k": {"temperature": 1.2, "top_k": 4},
    "top-p": {"top_p": 0.7},
    "top-k and top-p": {"temperature": 1.5, "top_k": 8, "top_p": 0.8},
    "repetition penalty": {"repetition_penalty": 1.6},
    "presence and frequency penalty": {"presence_penalty": 0.8, "frequency_penalty": 0.7},
    "bad words": {"bad_words": [[5], [7, 3], [9, 9]]},
    "allowed ids": {"allowed_token_ids": [0, 2, 3, 5, 8, 11]},
    "min_tokens": {"min_tokens": 2, "stop_token_ids": [1, 4, 6, 8, 10, 12, 14]},
    "min_p": {"min_p": 0.15, "temperature": 1.3},
    "logit_bias": {"logit_bias": {2: 1.5, 7: -2.0, 11: 1.0}},
    "custom processor": {"extra_args": {"forbid_repeating": True}},
    "seeded": {"seed": True},
    "structured output": {"grammar": ("abdefghi", "hijklmnop", "abdeklmp", "abdefghi", "abdefghi")},
    "all together": {
        "temperature": 0.9, "top_k": 9, "top_p": 0.95, "repetition_penalty": 1.3, "frequency_penalty": 0.4,
        "logit_bias": {2: 1.0, 9: -1.0}, "min_p": 0.03, "min_tokens": 2, "stop_token_ids": [4, 6, 10],
        "bad_words": [[5]],
    },
}  # fmt: skip


def sampling_params(asked: dict, seed: int) -> SamplingParams:
    asked = {"temperature": 1.0} | asked
    bad_words = asked.pop("bad_words", None)
    if letters := asked.pop("grammar", None):
        asked["structured_outputs"] = StructuredOutputsParams(regex="".join(f"[{of}]" for of in letters))
    if asked.get("seed"):
        asked["seed"] = seed
    params = SamplingParams(max_tokens=ANSWERED, ignore_eos=True, detokenize=False, **asked)
    params._bad_words_token_ids = bad_words  # as a tokenizer would have made them
    return params


def transformed(logits: torch.Tensor, asked: dict, output: tuple[int, ...]) -> torch.Tensor:
    """The next token's law, float64 [VOCAB], by the definitions of vLLM's documentation."""
    logits = logits.clone()
    for token, bias in asked.get("logit_bias", {}).items():
        logits[token] += bias
    forbidden = set(range(VOCAB)) - set(asked.get("allowed_token_ids", range(VOCAB)))
    for *before, word_end in asked.get("bad_words", []):
        if list(output[len(output) - len(before) :]) == before:
            forbidden.add(word_end)
    if len(output) < asked.get("min_tokens", 0):
        forbidden |= {EOS, *asked["stop_token_ids"]}
    if letters := asked.get("grammar"):
        forbidden |= {t for t in range(VOCAB) if LETTERS[t] not in letters[len(output)]}
    if asked.get("extra_args") and output:
        forbidden.add(output[-1])
    logits[list(forbidden)] = -torch.inf
    penalty = asked.get("repetition_penalty", 1.0)
    for token in {*PROMPT, *output}:
        logits[token] = logits[token] / penalty if logits[token] > 0 else logits[token] * penalty
    for token, count in Counter(output).items():
        logits[token] -= asked.get("frequency_penalty", 0.0) * count + asked.get("presence_penalty", 0.0)
    law = (logits / asked.get("temperature", 1.0)).softmax(-1)
    law[law < asked.get("min_p", 0.0) * law.max()] = 0
    if "top_k" in asked:
        law[law < law.sort(descending=True).values[asked["top_k"] - 1]] = 0
    law /= law.sum()
    order = law.argsort(descending=True)
    before = law[order].cumsum(0) - law[order]
    law[order[before >= asked.get("top_p", 1.0)]] = 0
    return law / law.sum()


def raw_logits(llm) -> dict[tuple[int, ...], torch.Tensor]:
    """At every prefix of fewer than LENGTH tokens."""
    prefixes = [p for length in range(LENGTH) for p in product(range(VOCAB), repeat=length)]
    whole = SamplingParams(max_tokens=1, temperature=0, logprobs=VOCAB, detokenize=False)
    outputs = llm.generate([{"prompt_token_ids": [*PROMPT, *p]} for p in prefixes], whole, use_tqdm=False)
    rows = [o.outputs[0].logprobs[0] for o in outputs]
    values = torch.tensor([[row[t].logprob for t in range(VOCAB)] for row in rows], dtype=torch.float64)
    return dict(zip(prefixes, values, strict=True))


def target_law(logits, asked: dict) -> dict[tuple[int, ...], float]:
    """Probability of each answer; one that ends with a stop token may be shorter."""
    law, open_ = {}, {(): 1.0}
    for _ in range(LENGTH):
        reached: dict[tuple[int, ...], float] = {}
        for prefix, chance in open_.items():
            for token, probability in enumerate(transformed(logits[prefix], asked, prefix).tolist()):
                if probability:
                    stops = token in asked.get("stop_token_ids", [])
                    (law if stops else reached)[(*prefix, token)] = chance * probability
        open_ = reached
    return law | open_


def serve(llm, kinds=tuple(TRANSFORMATIONS)) -> dict[str, Counter]:
    """The answers to REQUESTS requests of each transformation, in one mixed batch."""
    names = [name for _ in range(REQUESTS) for name in kinds]
    params = [sampling_params(TRANSFORMATIONS[name], seed) for seed, name in enumerate(names)]
    outputs = llm.generate([{"prompt_token_ids": PROMPT}] * len(names), params, use_tqdm=False)
    answers: dict[str, Counter] = {name: Counter() for name in kinds}
    for name, output in zip(names, outputs, strict=True):
        answers[name][tuple(output.outputs[0].token_ids[:LENGTH])] += 1
    return answers


def deviation(law: dict, answers: Counter) -> dict:
    """χ² of the answers against the law; answers that are expected less than 5 times are one bin.

    What the law excludes must not come at all.
    """
    count = answers.total()
    bins: Counter = Counter()
    for answer, probability in law.items():
        bins[answer if probability * count >= 5 else None] += probability * count
    seen = Counter()
    for answer, times in answers.items():
        seen[answer if answer in bins else None] += times
    return {
        "chi_square": sum((seen[bin_] - expected) ** 2 / expected for bin_, expected in bins.items()),
        "degrees_of_freedom": len(bins) - 1,
        "excluded": sum(times for answer, times in answers.items() if answer not in law),
    }


class FirstDrafts:
    """The token rule, with the acceptance of each request's first draft beside its overlap with the target."""

    def __init__(self) -> None:
        self.drafts, self.kept, self.overlap, self.variance = 0, 0, 0.0, 0.0

    def decide(self, round_, draws):
        verdict = RULES["token"].decide(round_, draws)
        some = round_.num_drafts > 0
        rows = round_.first_row[some]
        if round_.draft_probs is not None:
            rows = rows[~round_.point_mass[rows]] if round_.point_mass is not None else rows
            some &= ~round_.point_mass[round_.first_row.clamp_max(len(round_.draft_token_ids) - 1)]
            shared = overlap(round_.target_probs[rows], round_.draft_probs[rows]).double()
            self.overlap += shared.sum().item()
            self.variance += (shared * (1 - shared)).sum().item()
        self.drafts += int(some.sum())
        self.kept += int((verdict.num_accepted[some] > 0).sum())
        return verdict


def gained(before: dict, after: dict) -> dict:
    """Of the counters that are numbers."""
    return {name: value - before[name] for name, value in after.items() if not isinstance(value, list)}


def law_engine(model: str, options: str, **further) -> LLM:
    """An engine whose logprobs are the raw logits, so that the target's law can be enumerated."""
    return LLM(
        model,
        enforce_eager=True,
        dtype="float32",
        max_model_len=64,
        max_num_seqs=256,
        kv_cache_memory_bytes=64 << 20,
        disable_log_stats=True,
        logprobs_mode="raw_logits",
        **json.loads(options),
        **further,
    )


def controlled_drafters(bigram) -> dict[str, Any]:
    """Whose drafts the controller is to cut, by the name of the run."""
    return {
        "controlled": bigram,
        "controlled, drawn suffix": make_drafter("stochastic-suffix", {}),
        "controlled, copied suffix": make_drafter("suffix", {}),
    }


def controller_of_a_bumpy_machine() -> Any:
    """One that knows what steps cost on some other machine, where it sometimes pays to draft and sometimes not."""
    tokens = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    seconds = [0.07, 0.12, 0.14, 0.105, 0.12, 0.125, 0.2, 0.205, 0.5, 0.53, 0.9]
    costs = Costs(tokens=tokens, seconds=seconds, steps=[100] * 11, kv_token_s=0, request_s=0, drafts_s=0)
    controller = make_controller(ControlSettings(max_slowdown=None), costs)
    controller.costs.observe = lambda step: None
    return controller


def main(model: str, options: str, rules: str, law: str = "") -> None:
    custom = f"{ForbidRepeating.__module__}:{ForbidRepeating.__name__}"
    llm = law_engine(model, options, logits_processors=[custom])
    torch.manual_seed(1)
    logits = raw_logits(llm)
    laws = {name: target_law(logits, asked) for name, asked in TRANSFORMATIONS.items()}
    state, report = runtime.current(), {}

    def serve_and_compare(rule):
        state.verifier.rule = rule
        before = state.counters.as_dict()
        compared = {name: deviation(laws[name], answers) for name, answers in serve(llm).items()}
        return {"laws": compared, "counters": gained(before, state.counters.as_dict())}

    for rule in json.loads(rules):
        report[rule] = serve_and_compare(RULES[rule])
    if law:
        runner = llm.llm_engine.engine_core.engine_core.model_executor.driver_worker.worker.model_runner
        for name, send_law in (("with q", True), ("as point masses", False)):
            runner.drafter._drafter.send_law, first = send_law, FirstDrafts()
            report[name] = serve_and_compare(replace(RULES["token"], decide=first.decide)) | {
                "first_drafts": vars(first)
            }
        bigram = runner.drafter._drafter
        bigram.send_law = True
        for name, drafter in controlled_drafters(bigram).items():
            runner.drafter._drafter = drafter
            controller = runner.drafter._controller = controller_of_a_bumpy_machine()
            report[name] = serve_and_compare(RULES["token"]) | {"choices": vars(controller.choices)}
        runner.drafter._drafter = bigram
        runner.drafter._controller = make_controller(ControlSettings(mode="fixed"))
        receive = state.q_channel.receive

        def of_another_drafter(*args):
            q, point_mass = receive(*args)
            return q if q is None else torch.full_like(q, 1 / VOCAB), point_mass

        state.q_channel.receive = of_another_drafter
        report["planted"] = serve_and_compare(RULES["token"])
    print()
    print(json.dumps(report))


if __name__ == "__main__":
    main(*sys.argv[1:])
