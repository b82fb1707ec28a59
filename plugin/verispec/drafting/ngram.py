"""n-gram lookup, the classic prompt lookup: what followed the last time the history ended with these n tokens?"""

from verispec.drafting.suffix import SuffixDrafter


class NGramDrafter(SuffixDrafter):
    """Drafts by copying what followed the newest occurrence of the last n tokens in the request's own history.

    Args:
        n: how many tokens must agree.

    Raises:
        DrafterError: n is below 1.

    """

    def __init__(self, n: int = 3) -> None:
        super().__init__(min_match=n, max_match=n, max_candidates=1, memory_tokens=0)
