"""THE ONLY PLACE THAT TOUCHES vLLM INTERNALS: a declared list of seams, adapters, per-process state, counters."""

from verispec.engine.proposer import Proposer

__all__ = ["Proposer"]
