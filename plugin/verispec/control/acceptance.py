"""Has acceptance collapsed? Judged over one stretch of verified drafts after another."""


class AcceptanceWatch:
    """Pools rounds until enough drafts were verified, judges them, and starts again.

    Args:
        least: share of the drafts that must be kept; 0 never finds a collapse.
        window: drafts that are pooled for a judgement.

    """

    def __init__(self, least: float, window: int) -> None:
        self._least = least
        self._window = window
        self._drafted = self._kept = 0

    def observe(self, drafted: int, kept: int) -> str | None:
        """Add a round; what was found if a stretch has ended below the least share, else None."""
        self._drafted += drafted
        self._kept += kept
        if self._drafted < self._window:
            return None
        drafted, kept = self._drafted, self._kept
        self._drafted = self._kept = 0
        if kept >= self._least * drafted:
            return None
        return f"{kept} of the last {drafted} drafts were kept, at least {self._least:.0%} are asked for"
