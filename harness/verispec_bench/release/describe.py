"""A release manifest in a few lines for people."""

from typing import Any

from verispec_bench.release.source import Manifest

_MARKS = {True: "holds", False: "does not hold", None: "not known"}


def describe(manifest: Manifest) -> str:
    """Target, tokenizer, drafter, rule and contract with its reasons, numerical mode, versions."""
    facts, contract = manifest["defined_by"], manifest["contract"]
    lines = [
        ("target", f"{_model(facts['target'])}, context {facts['target']['max_model_len']}"),
        ("tokenizer", _tokenizer(facts["tokenizer"])),
        ("sampling", _options(facts["sampling_defaults"]["parameters"]) or "vLLM's neutral defaults"),
        ("processors", ", ".join(name.rpartition(".")[2] for name in facts["logits_processors"]["loaded"]) or "none"),
        ("drafter", _drafter(facts["drafter"])),
        ("rule", _verifier(facts)),
        ("contract", f"{contract['kind']}: {contract['says']}"),
        *((f"  {entry['name']}", f"{_MARKS[entry['holds']]}: {entry['why']}") for entry in contract["because"]),
        ("numerics", _options(facts["numerics"])),
        ("versions", _options(facts["versions"])),
        ("seams", ", ".join(facts["seams"]) or "none"),
        ("fallback", f"the same server without speculation, sha256 {_short(manifest['fallback']['sha256'])}"),
        ("contract_sha256", manifest["contract_sha256"]),
    ]
    return "\n".join(f"{name:<22} {text}" for name, text in lines)


def _model(model: dict[str, Any]) -> str:
    revision = f" at {model['revision']}" if model["revision"] else ""
    return f"{model['name']}{revision}, weights {_short(model['weights_sha256'])}"


def _tokenizer(tokenizer: dict[str, Any] | None) -> str:
    if tokenizer is None:
        return "none: token ids in and out"
    return f"{tokenizer['name']}, {tokenizer['vocab_size']} tokens, files {_short(tokenizer['sha256'])}"


def _drafter(drafter: dict[str, Any] | None) -> str:
    if drafter is None:
        return "none: target-only"
    name = " ".join(part for part in (drafter["method"], drafter["name"]) if part)
    model = f", {_model(drafter['model'])}" if drafter["model"] else ""
    options = _options(drafter["options"])
    return f"{name}, up to {drafter['num_speculative_tokens']} tokens{model}{f' ({options})' if options else ''}"


def _verifier(facts: dict[str, Any]) -> str:
    if facts["drafter"] is None:
        return "none: nothing is drafted"
    return str(facts["verifier"]["rule"] if "rejection-rule" in facts["seams"] else facts["verifier"]["function"])


def _options(values: dict[str, Any]) -> str:
    shown = ((key, ", ".join(map(str, value)) if isinstance(value, list) else value) for key, value in values.items())
    return ", ".join(f"{key} {value}" for key, value in shown if value is not None)


def _short(digest: str | None) -> str:
    return digest[:12] if digest else "not known"
