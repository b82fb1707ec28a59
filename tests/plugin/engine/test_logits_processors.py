"""Bias, min_p and min_tokens at drafted positions and after them; who goes without drafts."""

from types import SimpleNamespace

import pytest
import torch
from vllm import SamplingParams

from tests.engine.processors import ForbidRepeating
from tests.plugin.engine.processors import processors_of
from verispec.engine.logits_processors import (
    apply_at_drafts,
    load_all,
    min_tokens_after_drafts,
    rows_with_custom_processors,
)  # fmt: skip

PLAIN = SamplingParams()


def at_drafts(requests, counts, logits):
    """What the verifier sees after our adapter around a function that changes nothing."""
    adapted = apply_at_drafts(lambda self, logits, sampling_metadata, metadata: logits)
    temperatures = [params.temperature for params in requests]
    greedy = [t == 0 for t in temperatures]
    sampling = SimpleNamespace(
        logitsprocs=processors_of([(params, []) for params in requests]),
        temperature=torch.tensor(temperatures),
        all_greedy=all(greedy),
    )
    return adapted(None, logits.clone(), sampling, SimpleNamespace(num_draft_tokens=counts))


def test_bias_is_added_to_every_drafted_row_of_its_request_and_to_no_other():
    logits = torch.zeros(4, 5)
    biased = at_drafts([PLAIN, SamplingParams(logit_bias={1: 2.0, 4: -1.0}), PLAIN], [1, 2, 1], logits)
    want = logits.clone()
    want[1:3, 1], want[1:3, 4] = 2.0, -1.0
    assert torch.equal(biased, want)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_min_p_drops_what_is_unlikely_after_the_temperature(temperature):
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(0)) * 3
    requests = [PLAIN, SamplingParams(min_p=0.2, temperature=temperature)]
    seen = at_drafts(requests, [1, 2], logits)
    law = (logits[1:] / temperature).softmax(-1)
    assert torch.equal(seen[0], logits[0])
    assert torch.equal(seen[1:].isinf(), law < 0.2 * law.amax(-1, keepdim=True))


def test_min_p_leaves_greedy_requests_their_argmax():
    logits = torch.randn(3, 9)
    greedy = [SamplingParams(min_p=min_p, temperature=0) for min_p in (0.5, 0.0)]
    seen = at_drafts([*greedy, PLAIN], [1, 1, 1], logits)
    assert seen[0].argmax() == logits[0].argmax()
    assert torch.equal(seen[1:], logits[1:])


def masked(processors, rows):
    """Which (row, token) the processors hold back in logits of `rows` requests."""
    logits = torch.zeros(rows, 6)
    for processor in processors.non_argmax_invariant:
        logits = processor.apply(logits)
    return {tuple(place) for place in logits.isinf().nonzero().tolist()}


def test_drafts_count_towards_min_tokens_after_them():
    """Two tokens are out and three must be: with one draft or more the next token may stop, without drafts not."""
    params = SamplingParams(min_tokens=3, stop_token_ids=[4])
    processors = processors_of([(params, [1, 1]), (params, [1, 1]), (params, [1])])
    assert masked(processors, 3) == {(0, 4), (1, 4), (2, 4)}
    with min_tokens_after_drafts(processors, [1, 0, 1]):
        assert masked(processors, 3) == {(1, 4), (2, 4)}
    assert masked(processors, 3) == {(0, 4), (1, 4), (2, 4)}


def test_min_tokens_is_restored_after_a_fault():
    processors = processors_of([(SamplingParams(min_tokens=3, stop_token_ids=[4]), [1, 1])])
    with pytest.raises(KeyError), min_tokens_after_drafts(processors, [2]):
        raise KeyError
    assert masked(processors, 1) == {(0, 4)}


def without_drafts(requests, *custom):
    return rows_with_custom_processors(processors_of([(params, []) for params in requests], *custom), len(requests))


def test_a_custom_processor_keeps_drafts_from_the_requests_that_it_concerns():
    forbidding = SamplingParams(extra_args={"forbid_repeating": True})
    requests = [PLAIN, forbidding, SamplingParams(min_p=0.1, logit_bias={1: 1.0})]
    assert without_drafts(requests, ForbidRepeating) == {1}


def test_a_processor_that_does_not_say_whom_it_concerns_keeps_drafts_from_all():
    class Opaque:
        def __init__(self, *_):
            pass

        def is_argmax_invariant(self):
            return False

        def update_state(self, update):
            pass

    assert without_drafts([PLAIN, PLAIN]) == set()
    assert without_drafts([PLAIN, PLAIN], Opaque) == {0, 1}


@pytest.mark.parametrize(("method", "seen"), [("custom_class", None), ("ngram", None), ("eagle", "a config")])
def test_processors_are_loaded_as_for_a_target_only_server_where_drafts_can_be_withdrawn(method, seen):
    config = SimpleNamespace(speculative_config=SimpleNamespace(method=method))
    loaded = load_all(lambda config, device, pin: config.speculative_config)(config, "cpu", False)
    assert loaded is (None if seen is None else config.speculative_config)
    assert config.speculative_config is not None
