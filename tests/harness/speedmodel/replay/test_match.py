"""The longest repeated end, against a search through the whole text."""

import numpy as np
import pytest

from verispec_bench.errors import UnusableInput
from verispec_bench.speedmodel.replay.match import match_lengths
from verispec_bench.speedmodel.replay.trace import Trace


def trace(text, prompt_tokens):
    text = np.array(text, dtype=np.int32)
    return Trace("1", prompt_tokens, len(text) - prompt_tokens, text, {})


def searched(text):
    """The longest suffix that also ends earlier, by looking everywhere."""
    return max(
        (length for length in range(1, len(text)) if any(
            text[end - length : end] == text[-length:] for end in range(length, len(text)))),
        default=0,
    )  # fmt: skip


def test_it_is_the_longest_end_that_occurred_before():
    rng = np.random.default_rng(0)
    for alphabet in (2, 3, 20):
        text = rng.integers(0, alphabet, 60).tolist()
        expected = [searched(text[:end]) for end in range(20, 60)]
        assert match_lengths(trace(text, 20)).tolist() == expected


def test_nothing_matches_before_the_first_repetition():
    assert match_lengths(trace([1, 2, 3, 1, 2], 1)).tolist() == [0, 0, 0, 1]


def test_a_trace_without_its_text_has_no_matches():
    with pytest.raises(UnusableInput, match="holds no prompt_token_ids"):
        match_lengths(Trace("9", 1, 1, None, {}))
