"""The repair of vLLM's lost sampling parameters on CPUs."""

import torch
from torch import Tensor


def expand_batch_to_tokens(
    x: Tensor, cu_num_tokens: Tensor, num_tokens: int, replace_from: float = 0, replace_to: float = 0
) -> Tensor:
    """Repeat each request's sampling parameter for each of its draft positions.

    Stands in for vllm.v1.sample.rejection_sampler.expand_batch_to_tokens, with the same arguments and result.

    Args:
        x: [batch], a temperature, top-k or top-p for each request.
        cu_num_tokens: int [batch], inclusive cumulative draft counts.
        num_tokens: their total.
        replace_from, replace_to: a value to put another in place of (temperature 0 becomes 1).

    Returns:
        [num_tokens], of x's dtype.

    """
    counts = torch.diff(cu_num_tokens, prepend=cu_num_tokens.new_zeros(1))
    expanded = torch.repeat_interleave(x, counts, output_size=num_tokens)
    return torch.where(expanded == replace_from, torch.full_like(expanded, replace_to), expanded)
