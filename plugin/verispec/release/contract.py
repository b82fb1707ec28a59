"""What a server may promise, computed from what it is: never from the name of a rule.

A contract has two parts. *law*: the committed tokens follow the target's law (up to float order: see the numerics).
*rollback*: a rejected draft leaves nothing behind. An entry holds, does not hold, or is not known.
"""

from collections.abc import Callable
from typing import Literal

from verispec.release.evidence import Evidence
from verispec.release.facts import POINT_MASS_METHODS, DefinedBy, Drafter, Frozen

Kind = Literal["exact", "exact-by-construction", "approximate", "blocked", "unknown"]
Finding = tuple[bool | None, str]

KINDS: dict[Kind, str] = {
    "exact": "the target's law, and a rejected draft leaves nothing behind",
    "exact-by-construction": "the target's law by construction; rollback is not evidenced",
    "approximate": "not the target's law",
    "blocked": "the target's law by construction, but rollback is known to fail",
    "unknown": "whether it is the target's law is not known",
}
_EXACT_METHODS = ("standard", "block")
_VLLMS_VERIFIER = "vllm.v1.sample.rejection_sampler.rejection_sample"
_NOTHING_DRAFTED = "nothing is drafted"


class Entry(Frozen):
    """One condition.

    Attributes:
        name: of the condition.
        part: what it belongs to.
        holds: None where it is not known.
        why: one line.

    """

    name: str
    part: Literal["law", "rollback"]
    holds: bool | None
    why: str


class Contract(Frozen):
    """The verdict and its reasons.

    Attributes:
        kind: a key of KINDS.
        says: the kind in words.
        because: every condition.

    """

    kind: Kind
    says: str
    because: tuple[Entry, ...]


def contract_of(facts: DefinedBy, evidence: Evidence | None = None) -> Contract:
    """The contract of a server with these facts.

    Args:
        evidence: what a test of the decoder's state found on a server with the same facts.

    """
    law = [_entry(name, "law", find, facts) for name, find in _LAW.items()]
    rollback = [
        _entry("random-state", "rollback", _random_state, facts),
        _entry("draft-state", "rollback", lambda f, d: _draft_state(d, _evidenced(f, evidence)), facts),
        _entry("target-state", "rollback", lambda f, d: _evidenced(f, evidence), facts),
    ]
    kind = _kind([entry.holds for entry in law], [entry.holds for entry in rollback])
    return Contract(kind=kind, says=KINDS[kind], because=(*law, *rollback))


def _entry(
    name: str, part: Literal["law", "rollback"], find: Callable[[DefinedBy, Drafter], Finding], facts: DefinedBy
) -> Entry:
    holds, why = (True, _NOTHING_DRAFTED) if facts.drafter is None else find(facts, facts.drafter)
    return Entry(name=name, part=part, holds=holds, why=why)


def _kind(law: list[bool | None], rollback: list[bool | None]) -> Kind:
    if False in law:
        return "approximate"
    if None in law:
        return "unknown"
    if False in rollback:
        return "blocked"
    return "exact-by-construction" if None in rollback else "exact"


def _token_spaces(facts: DefinedBy, drafter: Drafter) -> Finding:
    model, target = drafter.model, facts.target
    if model is None:
        return True, "drafts are ids of the target's vocabulary; an id outside it is rejected"
    ours, theirs = target.vocabulary_sha256, model.vocabulary_sha256
    if drafter.method == "draft_model":
        if ours is None or theirs is None:
            return None, f"the vocabulary of {'the target' if ours is None else 'the draft model'} cannot be read"
        if ours != theirs:
            return None, (
                f"{model.name} has another vocabulary ({theirs[:12]}) than {target.name} ({ours[:12]}): "
                "assistance across tokenizers is a contract of its own, which is not judged here"
            )
        return True, "draft model and target have the same vocabulary"
    if model.vocab_size != target.vocab_size:
        return None, f"{model.name} drafts from {model.vocab_size} tokens, the target has {target.vocab_size}"
    return True, "the draft heads predict the target's own vocabulary"


def _sampling_parameters(facts: DefinedBy, drafter: Drafter) -> Finding:
    if facts.numerics.device == "cpu" and "sampling-parameters" not in facts.seams:
        return False, "on CPUs vLLM loses temperature, top-k and top-p at drafted positions (vllm#55005)"
    return True, "temperature, top-k, top-p, penalties, bad words and allowed ids count at each drafted position"


def _min_p_and_bias(facts: DefinedBy, drafter: Drafter) -> Finding:
    if not facts.logits_processors.all_accepted:
        return True, "vLLM refuses requests with min_p or logit_bias beside speculation"
    if {"logits-processors", "processors-at-drafts"} <= facts.seams.keys():
        return True, "applied at each drafted position"
    return False, "accepted, but not applied at drafted positions"


def _min_tokens(facts: DefinedBy, drafter: Drafter) -> Finding:
    if "sampling-step" in facts.seams:
        return True, "drafts count towards min_tokens at the position after them"
    return False, "vLLM does not count drafts at the position after them"


def _custom_processors(facts: DefinedBy, drafter: Drafter) -> Finding:
    if not facts.logits_processors.custom:
        return True, "none is loaded"
    if "drafts" in facts.seams and facts.logits_processors.all_accepted:
        return True, "a request that uses one is served without drafts"
    return False, "they know committed tokens only, and are not applied at drafted positions"


def _grammar(facts: DefinedBy, drafter: Drafter) -> Finding:
    if drafter.method in POINT_MASS_METHODS:
        return True, "drafts are point masses: dropping one by its content changes no law"
    if "draft-probabilities" in facts.seams:
        return True, "under a grammar, whose drafts are dropped by content, drafts count as point masses"
    return False, "the scheduler drops drafts by content, which their law q does not know"


def _rule(facts: DefinedBy, drafter: Drafter) -> Finding:
    verifier = facts.verifier
    if verifier.sample_method == "synthetic":
        return False, "rejection_sample_method synthetic keeps drafts at a set rate, whatever the target says"
    if "rejection-rule" in facts.seams:
        exact = "exact" if verifier.rule_is_exact else "not exact"
        return verifier.rule_is_exact, f"the rule {verifier.rule!r}, in place in this process, is {exact}"
    if verifier.function != _VLLMS_VERIFIER:
        return None, f"neither verispec nor vLLM verifies, but {verifier.function}"
    if verifier.sample_method in _EXACT_METHODS:
        return True, f"vLLM's own verifier, method {verifier.sample_method}"
    return None, f"vLLM's method {verifier.sample_method!r} is not known here"


def _random_state(facts: DefinedBy, drafter: Drafter) -> Finding:
    if {"sampling-step", "own-draws", "bookkeeping"} <= facts.seams.keys():
        return True, "seeded requests draw by (seed, position): there is no state to be rolled back"
    return None, "the generators of seeded requests advance with what was drafted"


def _draft_state(drafter: Drafter, evidenced: Finding) -> Finding:
    copies = drafter.method in POINT_MASS_METHODS or (drafter.method, drafter.name) == ("verispec", "suffix")
    return (True, "the drafter looks up committed tokens only") if copies else evidenced


def _evidenced(facts: DefinedBy, evidence: Evidence | None) -> Finding:
    if evidence is None:
        return None, "no evidence was handed in"
    if evidence.contract_sha256 != facts.sha256():
        return None, f"the evidence is for another contract ({evidence.contract_sha256[:12]})"
    result = "no leak" if evidence.closed else "a leak"
    return evidence.closed, f"tested by forced rejections: {result} (evidence {evidence.sha256[:12]})"


_LAW: dict[str, Callable[[DefinedBy, Drafter], Finding]] = {
    "token-spaces": _token_spaces,
    "sampling-parameters": _sampling_parameters,
    "min-p-and-bias": _min_p_and_bias,
    "min-tokens": _min_tokens,
    "custom-processors": _custom_processors,
    "grammar": _grammar,
    "rule": _rule,
}
