"""A claim, and what is known of it."""

from dataclasses import dataclass
from typing import Any, Literal

State = Literal["closed", "open", "broken"]


@dataclass(frozen=True)
class Entry:
    """One claim of a ledger.

    Attributes:
        claim: what must hold.
        state: "closed": it is shown; "open": it is not known; "broken": it is shown not to hold.
        evidence: what was found, in a line.
        figure, threshold: the number that was found, and what it had to reach or keep below; None where there is none.
        file: where it was found.
        would_close: what would close it, where it is open.

    """

    claim: str
    state: State
    evidence: str
    figure: float | None = None
    threshold: float | None = None
    file: str | None = None
    would_close: str | None = None


@dataclass(frozen=True)
class Ledger:
    """All claims of one kind."""

    name: str
    entries: tuple[Entry, ...]

    @property
    def state(self) -> State:
        """Broken if a claim is, else open if one is."""
        states = {entry.state for entry in self.entries}
        if "broken" in states:
            return "broken"
        return "open" if "open" in states or not states else "closed"

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"name": self.name, "state": self.state, "entries": [vars(entry) for entry in self.entries]}
