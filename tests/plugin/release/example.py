"""A release manifest of a server that does not exist."""

from typing import Any

from verispec.release import DefinedBy, Evidence, Manifest
from verispec.release.manifest import Machine, Serving

SEAMS = (
    "rejection-rule", "sampling-parameters", "draft-probabilities", "draft-room", "logits-processors",
    "processors-at-drafts", "drafts", "sampling-step", "own-draws", "bookkeeping",
)  # fmt: skip
MODEL = {
    "name": "owner/target",
    "revision": "abc",
    "weights_sha256": "a" * 64,
    "config_sha256": "c" * 64,
    "vocab_size": 16,
    "vocabulary_sha256": "d" * 64,
}
DRAFT_MODEL = MODEL | {"name": "owner/draft", "weights_sha256": "b" * 64}
FACTS: dict[str, Any] = {
    "target": MODEL | {"max_model_len": 96, "lora": False},
    "tokenizer": {"name": "owner/target", "revision": "abc", "sha256": "e" * 64, "vocab_size": 16},
    "sampling_defaults": {"source": "auto", "parameters": {"temperature": 0.6}, "eos_token_id": 2},
    "logits_processors": {
        "loaded": ["vllm.v1.sample.logits_processor.builtin.MinPLogitsProcessor"],
        "custom": [],
        "all_accepted": True,
    },
    "drafter": {
        "method": "verispec",
        "name": "suffix",
        "options": {"min_match": 3},
        "num_speculative_tokens": 4,
        "model": None,
    },
    "verifier": {
        "rule": "token",
        "rule_is_exact": True,
        "function": "verispec.engine.verifier.Verifier.adapt.<locals>.rejection_sample",
        "sample_method": "standard",
        "sources_sha256": "f" * 64,
    },
    "seams": {name: f"vllm.{name}" for name in SEAMS},
    "numerics": {
        "dtype": "float32",
        "quantization": None,
        "kv_cache_dtype": "auto",
        "compilation": "NONE",
        "cuda_graphs": "NONE",
        "attention_backends": ["CPU_ATTN"],
        "device": "cpu",
        "tensor_parallel_size": 1,
        "pipeline_parallel_size": 1,
    },
    "versions": {"vllm": "0.32.0", "torch": "2.13.0", "transformers": "5.19.0", "verispec": "0.1.0"},
}
SERVING = Serving(
    max_num_seqs=16,
    max_num_batched_tokens=4096,
    block_size=128,
    prefix_caching=True,
    chunked_prefill=True,
    async_scheduling=False,
)
MACHINE = Machine(device_name="x86_64", threads=2, python="3.11.7")


def facts(**changes: Any) -> DefinedBy:
    """The facts; `a__b=value` changes key b of a, and seams are given by name."""
    changed = {key: dict(value) if isinstance(value, dict) else value for key, value in FACTS.items()}
    for path, value in changes.items():
        *sections, key = path.split("__")
        place = changed
        for section in sections:
            place = place[section]
        place[key] = value
    if isinstance(changed["seams"], tuple | list | set):
        changed["seams"] = {name: f"vllm.{name}" for name in changed["seams"]}
    return DefinedBy.model_validate(changed)


def without(*names: str) -> list[str]:
    """All seams but these."""
    return [name for name in SEAMS if name not in names]


def manifest(evidence: Evidence | None = None, **changes: Any) -> Manifest:
    """The manifest of these facts."""
    return Manifest.of(facts(**changes), SERVING, MACHINE, evidence)
