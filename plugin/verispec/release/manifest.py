"""The release manifest: what a server is, what it promises, and what it falls back to, in one file."""

from typing import Any

from verispec.release.contract import Contract, contract_of
from verispec.release.digest import value_digest
from verispec.release.evidence import Evidence
from verispec.release.facts import DefinedBy, Frozen

SCHEMA = 1


class Serving(Frozen):
    """Limits of the scheduler; they change speed, not what is promised."""

    max_num_seqs: int
    max_num_batched_tokens: int
    block_size: int
    prefix_caching: bool
    chunked_prefill: bool
    async_scheduling: bool


class Fallback(Frozen):
    """The same server without speculation: what it falls back to, and what a matched baseline is.

    Attributes:
        serving: its limits.
        sha256: of all its settings: target, tokenizer, sampling defaults, numerics, versions and limits. A target-only
            server with the same hash is this fallback.

    """

    serving: Serving
    sha256: str


class Machine(Frozen):
    """Where it runs. Threads and processors may change the order of float operations, not the law."""

    device_name: str
    threads: int
    python: str


class Manifest(Frozen):
    """What a server says of itself.

    Attributes:
        contract_sha256: of `defined_by`; evidence is bound to it.
        contract: what follows from `defined_by` and the evidence.
        evidence_sha256: of the file that was handed in, None if none was.
        sha256: of all the rest.

    """

    schema_version: int = SCHEMA
    contract_sha256: str
    contract: Contract
    defined_by: DefinedBy
    fallback: Fallback
    machine: Machine
    evidence_sha256: str | None
    sha256: str = ""

    @classmethod
    def of(cls, facts: DefinedBy, serving: Serving, machine: Machine, evidence: Evidence | None) -> "Manifest":
        """The manifest that these facts make."""
        manifest = cls(
            contract_sha256=facts.sha256(),
            contract=contract_of(facts, evidence),
            defined_by=facts,
            fallback=Fallback(serving=serving, sha256=_target_only_digest(facts, serving)),
            machine=machine,
            evidence_sha256=evidence.sha256 if evidence else None,
        )
        rest = manifest.model_dump(mode="json", exclude={"sha256"})
        return manifest.model_copy(update={"sha256": value_digest(rest)})

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return self.model_dump(mode="json")


def _target_only_digest(facts: DefinedBy, serving: Serving) -> str:
    include = {"target", "tokenizer", "sampling_defaults", "numerics", "versions"}
    return value_digest(facts.model_dump(mode="json", include=include) | {"serving": serving.model_dump(mode="json")})
