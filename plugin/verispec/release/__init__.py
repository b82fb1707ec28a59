"""WHAT IS SERVED: a server's release manifest, and the contract that follows from it. Pure; knows nothing of vLLM."""

from verispec.release.contract import Contract, Entry, contract_of
from verispec.release.evidence import Evidence
from verispec.release.facts import DefinedBy
from verispec.release.manifest import Manifest

__all__ = ["Contract", "DefinedBy", "Entry", "Evidence", "Manifest", "contract_of"]
