"""What follows? The earlier occurrences of a history's end vote, each for the token that followed it.

A longer occurrence has more votes, and one whose vote was not taken has no further: at each position of a draft the
occurrences are those of the history *and* the draft so far.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from verispec.compiled import compiled
from verispec.drafting.match_index import SEPARATOR, Chains, Tokens, find_matches

VOTE_POWER = 2.0
"""An occurrence of m tokens has m to this power votes."""
DOUBT, DOUBT_POWER, SHARE_POWER = 0.6, 0.8, 0.6
"""Chance = share of votes to one power × (1 − doubt / length of the match to another): a prior, fitted to greedy
answers of a small model about code, documents and anything; what holds for a server's own traffic is learned there."""


class Continuation(NamedTuple):
    """Room for a draft and what is known of it.

    Attributes:
        token_ids: int32 [k], the draft.
        chance: float64 [k], of each token to be what follows, given those before it: the more, the larger the share of
            its votes and the longer the match.
        choices: int32 [k, candidates], the tokens that got votes at each position, the rest of a row being SEPARATOR.
        law: float64 [k, candidates], the law that the token was drawn from.

    """

    token_ids: Tokens
    chance: NDArray[np.float64]
    choices: Tokens
    law: NDArray[np.float64]

    @classmethod
    def empty(cls, max_tokens: int, max_candidates: int) -> "Continuation":
        """Room for max_tokens."""
        wide = (max_tokens, 2 * max_candidates)
        return cls(
            np.zeros(max_tokens, np.int32), np.zeros(max_tokens), np.full(wide, SEPARATOR, np.int32), np.zeros(wide)
        )


@compiled
def continue_history(
    own: Chains,
    memory: Chains,
    max_match: int,
    max_candidates: int,
    sharpness: float,
    uniforms: NDArray[np.float64],
    max_tokens: int,
    out: Continuation,
) -> int:
    """Draft what follows a history.

    Args:
        own: the history.
        memory: other texts.
        max_match, max_candidates: of each; see find_matches.
        sharpness: a draw is from the votes to this power.
        uniforms: float64 [max_tokens] in [0, 1), one for each draw; empty: the token with most votes is taken.
        max_tokens: longest draft.
        out: is filled.

    Returns:
        How many tokens were drafted.

    """
    ends, lengths = np.empty(2 * max_candidates, np.int32), np.empty(2 * max_candidates, np.int32)
    history = own.tokens[: own.size]
    of_own = find_matches(own, history, True, max_match, max_candidates, ends, lengths)
    alive = of_own + find_matches(memory, history, False, max_match, max_candidates, ends[of_own:], lengths[of_own:])
    from_own = np.arange(2 * max_candidates) < of_own
    following, votes = np.empty(2 * max_candidates, np.int32), np.empty(2 * max_candidates)
    for drafted in range(max_tokens):
        kept = 0
        for i in range(alive):
            at = ends[i] + drafted
            if from_own[i]:  # past the end of the history the copy goes on into the draft
                token = own.tokens[at] if at < own.size else out.token_ids[at - own.size]
            else:
                token = memory.tokens[at] if at < memory.size else SEPARATOR
            if token != SEPARATOR:
                ends[kept], lengths[kept], from_own[kept], following[kept] = ends[i], lengths[i], from_own[i], token
                kept += 1
        alive = kept
        if alive == 0:
            return drafted
        choices = 0
        for i in range(alive):
            for choice in range(choices):
                if out.choices[drafted, choice] == following[i]:
                    break
            else:
                choice, choices = choices, choices + 1
                out.choices[drafted, choice], votes[choice] = following[i], 0.0
            votes[choice] += float(lengths[i] + drafted) ** VOTE_POWER
        share = votes[:choices] / votes[:choices].sum()
        law = (share / share.max()) ** sharpness
        law /= law.sum()
        chosen = int(np.argmax(share))
        if len(uniforms):
            chosen = min(int(np.searchsorted(np.cumsum(law), uniforms[drafted], side="right")), choices - 1)
        token = out.choices[drafted, chosen]
        longest, kept = 0, 0
        for i in range(alive):
            if following[i] == token:
                longest = max(longest, lengths[i] + drafted)
                ends[kept], lengths[kept], from_own[kept] = ends[i], lengths[i], from_own[i]
                kept += 1
        alive = kept
        out.token_ids[drafted] = token
        out.chance[drafted] = share[chosen] ** SHARE_POWER * (1 - DOUBT / float(longest) ** DOUBT_POWER)
        out.choices[drafted, choices:] = SEPARATOR
        out.law[drafted, :choices], out.law[drafted, choices:] = law, 0.0
    return max_tokens
