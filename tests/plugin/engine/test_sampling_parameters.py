"""The repaired expansion does what vLLM's function documents."""

import torch

from verispec.engine.sampling_parameters import expand_batch_to_tokens


def test_each_value_is_repeated_for_its_drafts():
    x = torch.tensor([0.5, 2.0, 3.0])
    assert expand_batch_to_tokens(x, torch.tensor([2, 5, 6]), 6).tolist() == [0.5, 0.5, 2.0, 2.0, 2.0, 3.0]


def test_requests_without_drafts_are_left_out():
    assert expand_batch_to_tokens(torch.tensor([5, 6, 7]), torch.tensor([0, 2, 2]), 2).tolist() == [6, 6]


def test_greedy_temperature_is_replaced():
    x = torch.tensor([0.0, 0.7])
    expanded = expand_batch_to_tokens(x, torch.tensor([1, 3]), 3, replace_from=0, replace_to=1)
    assert expanded.tolist() == torch.tensor([1.0, 0.7, 0.7]).tolist()


def test_dtype_and_input_are_kept():
    x = torch.tensor([3, 0], dtype=torch.int32)
    assert expand_batch_to_tokens(x, torch.tensor([1, 2]), 2, 0, 9).dtype == torch.int32
    assert x.tolist() == [3, 0]
