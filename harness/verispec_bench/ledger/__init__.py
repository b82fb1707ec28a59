"""The three ledgers, probability, state and performance, and the decision that follows from them."""

from verispec_bench.ledger.decision import DECISIONS, Decision, decide
from verispec_bench.ledger.entry import Entry, Ledger

__all__ = ["DECISIONS", "Decision", "Entry", "Ledger", "decide"]
