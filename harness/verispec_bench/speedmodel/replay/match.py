"""How far back does the text repeat itself? The length of the longest match, at each position of an answer."""

import numpy as np
from numpy.typing import NDArray

from verispec_bench.errors import UnusableInput
from verispec_bench.speedmodel.replay.trace import Trace


def match_lengths(trace: Trace) -> NDArray[np.int64]:
    """Before each token of the answer: of all that was written so far, the longest end that occurred earlier too.

    A suffix automaton tells it for the whole text in linear time: it is the length of the last state's link.

    Returns:
        int64 [tokens].

    Raises:
        UnusableInput: the trace does not hold its text.

    """
    if trace.text is None:
        raise UnusableInput(
            f"trace {trace.id}: holds no prompt_token_ids and generated_token_ids to look for matches in"
        )
    length, link, following = [0], [-1], [{}]  # type: tuple[list[int], list[int], list[dict[int, int]]]
    last, found = 0, []
    for token in trace.text.tolist():
        found.append(length[link[last]] if last else 0)
        state, last = last, len(length)
        length.append(length[state] + 1)
        link.append(0)
        following.append({})
        while state >= 0 and token not in following[state]:
            following[state][token] = last
            state = link[state]
        if state < 0:
            continue
        target = following[state][token]
        if length[target] > length[state] + 1:
            clone = len(length)
            length.append(length[state] + 1)
            link.append(link[target])
            following.append(dict(following[target]))
            link[target] = clone
            while state >= 0 and following[state].get(token) == target:
                following[state][token] = clone
                state = link[state]
            target = clone
        link[last] = target
    return np.array(found[trace.prompt_tokens :], dtype=np.int64)
