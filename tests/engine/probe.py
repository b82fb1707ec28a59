"""Runs one tiny engine in a process of its own and reports, as JSON, what reached the verifier.

python -m tests.engine.probe MODEL_DIR '{"speculative_config": …, "additional_config": …}' [temperatures]

With "temperatures" no request has top-k or top-p: unrepaired vLLM stops at them (garbage as an index).
"""

import copy
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

os.environ |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"}

import torch
from vllm import LLM, SamplingParams
from vllm.v1.sample import rejection_sampler

from tests.engine.drafters import SENT

VOCAB = 16
MAX_MODEL_LEN = 96
BLOCK = 32
PROMPT = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
LAW_REQUESTS = 3000
PARAMETERS = [
    {"temperature": 0.8, "top_k": 5, "top_p": 0.9},
    {"temperature": 0.0},
    {"temperature": 1.0},
    {"temperature": 0.5, "top_p": 0.7},
    {"temperature": 1.3, "top_k": 3},
]


def expected(logits: torch.Tensor, temperature: float, top_k: int = 0, top_p: float = 1.0) -> torch.Tensor:
    """The target's law after the sampling transformation, written from its definition; greedy logits are unchanged."""
    law = (logits / (temperature or 1.0)).softmax(-1)
    if top_k:
        law[law < law.sort(descending=True).values[top_k - 1]] = 0
        law /= law.sum()
    order = law.argsort(descending=True)
    before = law[order].cumsum(0) - law[order]
    law[order[before >= top_p]] = 0
    return law / law.sum()


class Recorder:
    """Stands between vLLM and the rule that is in place, and keeps what passes."""

    def __init__(self, runner) -> None:
        self.runner, self.rounds = runner, []
        constrain, verify = rejection_sampler.apply_sampling_constraints, rejection_sampler.rejection_sample

        def apply_sampling_constraints(logits, *arguments):
            self.raw = logits.clone()
            return constrain(logits, *arguments)

        def rejection_sample(draft_token_ids, num_draft_tokens, max_len, cu, draft_probs, target_logits, *rest, **more):
            self.rounds.append(
                {
                    "requests": self.runner.input_batch.req_ids[: len(num_draft_tokens)],
                    "counts": list(num_draft_tokens),
                    "drafts": draft_token_ids.tolist(),
                    "q": None if draft_probs is None else draft_probs.clone(),
                    "raw": self.raw,
                    "target": target_logits.softmax(-1),
                }
            )
            return verify(draft_token_ids, num_draft_tokens, max_len, cu, draft_probs, target_logits, *rest, **more)

        rejection_sampler.apply_sampling_constraints = apply_sampling_constraints
        rejection_sampler.rejection_sample = rejection_sample


def parameters_of(recorder, request_id) -> dict:
    params = recorder.runner.requests[request_id].sampling_params
    return {"temperature": params.temperature, "top_k": max(params.top_k, 0), "top_p": params.top_p}


def count_completion_tokens(llm) -> list[int]:
    """The length of every completion from now on."""
    lengths, generate = [], llm.generate

    def counting(*args, **kwargs):
        outputs = generate(*args, **kwargs)
        lengths.extend(len(o.outputs[0].token_ids) for o in outputs)
        return outputs

    llm.generate = counting
    return lengths


def with_nan_in_one(llm, runner) -> list[tuple[str | None, int]]:
    """Finish reason and length of three greedy requests, the second of which meets NaN logits in the fourth step."""
    compute, steps = runner.model.compute_logits, []

    def compute_logits(hidden_states, *args):
        logits = compute(hidden_states, *args)
        steps.append(logits)
        if len(steps) == 4:
            logits[len(logits) // 2, 3] = torch.nan
        return logits

    runner.model.compute_logits = compute_logits
    params = SamplingParams(max_tokens=20, temperature=0, ignore_eos=True, detokenize=False)
    outputs = llm.generate([{"prompt_token_ids": [*PROMPT, t]} for t in (3, 5, 7)], params, use_tqdm=False)
    runner.model.compute_logits = compute
    return [(o.outputs[0].finish_reason, len(o.outputs[0].token_ids)) for o in outputs]


def run(llm, prompts, params):
    inputs = [{"prompt_token_ids": prompt} for prompt in prompts]
    return [list(o.outputs[0].token_ids) for o in llm.generate(inputs, params, use_tqdm=False)]


def served_laws(llm) -> tuple[list[float], list[int]]:
    """Exact marginal of the second token at temperature 1, and how often each token came in served requests."""
    whole = SamplingParams(max_tokens=1, temperature=0, logprobs=VOCAB, detokenize=False)

    def law(prompts):
        outputs = llm.generate([{"prompt_token_ids": p} for p in prompts], whole, use_tqdm=False)
        rows = [o.outputs[0].logprobs[0] for o in outputs]
        return torch.tensor([[row[t].logprob for t in range(VOCAB)] for row in rows], dtype=torch.float64).exp()

    first = law([PROMPT])[0]
    second = first @ law([[*PROMPT, t] for t in range(VOCAB)])
    sampled = SamplingParams(max_tokens=2, temperature=1.0, ignore_eos=True, detokenize=False)
    answers = run(llm, [PROMPT] * LAW_REQUESTS, sampled)
    counts = torch.bincount(torch.tensor([a[1] for a in answers]), minlength=VOCAB)
    return second.tolist(), counts.tolist()


def manifests(runner, model: str) -> tuple[dict | None, dict | None]:
    """What the worker answers to /verispec/manifest, and what it would answer if one byte of its weights differed."""
    from verispec.engine import release
    from verispec.engine.model_files import ModelFiles
    from verispec.settings import Settings

    worker = SimpleNamespace(model_runner=runner)
    while (manifest := release.manifest_of(worker)) == {}:
        time.sleep(0.05)
    assert release.manifest_of(worker) == manifest
    if manifest is None:
        return None, None
    with tempfile.TemporaryDirectory() as scratch:
        changed = shutil.copytree(model, Path(scratch) / Path(model).name)
        weights = changed / "model.safetensors"
        content = bytearray(weights.read_bytes())
        content[-1] ^= 1
        weights.write_bytes(content)
        config = copy.copy(runner.vllm_config)
        config.model_config = copy.copy(config.model_config)
        config.model_config.model = str(changed)
        files = ModelFiles(config)
        while (contents := files.contents()) is None:
            time.sleep(0.05)
    additional = config.additional_config
    settings = Settings.from_additional_config(additional)
    return manifest, release.gather(config, runner, settings, contents, named="verispec" in additional).as_dict()


def main(model: str, options: str, only: str = "") -> None:
    kept = ("temperature",) if only else ("temperature", "top_k", "top_p")
    asked = [{name: value for name, value in p.items() if name in kept} for p in PARAMETERS]
    llm = LLM(
        model,
        skip_tokenizer_init=True,
        enforce_eager=True,
        dtype="float32",
        max_model_len=MAX_MODEL_LEN,
        max_num_seqs=64,
        kv_cache_memory_bytes=64 << 20,
        block_size=BLOCK,
        disable_log_stats=True,
        **json.loads(options),
    )
    runner = llm.llm_engine.engine_core.engine_core.model_executor.driver_worker.worker.model_runner
    from verispec.engine.seams import SEAMS

    active = [seam.name for seam in SEAMS if seam.active]
    manifest, other_weights = manifests(runner, model)
    recorder = Recorder(runner)
    completions = count_completion_tokens(llm)
    parameters: dict[str, dict] = {}
    original = runner._update_states

    padding = []

    def remember(scheduler_output):
        result = original(scheduler_output)
        padding.extend(t for drafts in scheduler_output.scheduled_spec_decode_tokens.values() for t in drafts if t < 0)
        parameters.update({request_id: parameters_of(recorder, request_id) for request_id in runner.requests})
        return result

    runner._update_states = remember
    torch.manual_seed(1)
    lengths = [6 + 5 * (i % 7) for i in range(40)]
    params = [
        SamplingParams(max_tokens=n, ignore_eos=True, detokenize=False, **asked[i % len(asked)])
        for i, n in enumerate(lengths)
    ]
    # Alone in its batch, so that its first step has no drafts and its top-k no top-p beside it.
    alone = run(llm, [PROMPT], SamplingParams(max_tokens=5, ignore_eos=True, detokenize=False, **asked[-1]))
    answers = run(llm, [[*PROMPT, i % VOCAB, *PROMPT[: i % 9]] for i in range(40)], params)
    to_the_end = run(
        llm, [PROMPT * 8, PROMPT], SamplingParams(max_tokens=None, temperature=0, ignore_eos=True, detokenize=False)
    )

    # The second time all of the prompt but its last token is in the prefix cache: vLLM pads that step.
    for _ in range(2):
        run(llm, [(PROMPT * 4)[: BLOCK + 1]], SamplingParams(max_tokens=4, temperature=0, detokenize=False))

    worst, wrong_q, q_rows, moved, seen_at = 0.0, 0, 0, 0, {}
    for round_ in recorder.rounds:
        row = 0
        for index, (request, count) in enumerate(zip(round_["requests"], round_["counts"], strict=True)):
            moved += seen_at.setdefault(request, index) != index
            for j in range(count):
                if request in parameters and parameters[request]["temperature"] > 0:
                    want = expected(round_["raw"][row + j].clone(), **parameters[request])
                    difference = (round_["target"][row + j] - want).abs().max().item()
                    worst = max(worst, difference if difference == difference else 1.0)
            if round_["q"] is not None and count:
                drafts = round_["drafts"][row : row + count]
                laws = [law for tokens, law in SENT.get(request, []) if tokens[:count] == drafts]
                q_rows += count
                wrong_q += not any(torch.equal(round_["q"][row : row + count], law[:count]) for law in laws)
            row += count
    exact, counts = served_laws(llm)
    from verispec.engine import commits, runtime

    counted = {"status": runtime.status(), "commits": commits.status(), "completion_tokens": sum(completions)}
    failed = with_nan_in_one(llm, runner) if active else None

    print()
    print(
        json.dumps(
            {
                "rounds": sum(any(r["counts"]) for r in recorder.rounds),
                "worst_target_error": worst,
                "q_rows": q_rows,
                "wrong_q": wrong_q,
                "moved_rows": moved,
                "lengths_right": [len(a) for a in (*alone, *answers)] == [5, *lengths],
                "lengths_to_the_end": [len(a) for a in to_the_end],
                "exact_law": exact,
                "counts": counts,
                "seams": active,
                "padding": len(padding),
                **counted,
                "with_nan_in_one": failed,
                "manifest": manifest,
                "manifest_of_other_weights": other_weights,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
