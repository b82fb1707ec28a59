"""Drafters for engine tests, named in the settings by import path."""

import torch

from verispec.drafting import Proposal

SENT: dict[str, list[tuple[list[int], torch.Tensor]]] = {}
"""Every draft and its law by request id, for the probe to compare with what the verifier received."""


class RandomLaw:
    """Draws each token from a known law that depends on the token before it: a true q, unlike any target."""

    def __init__(self, vocab_size: int, seed: int = 0) -> None:
        self._generator = torch.Generator().manual_seed(seed)
        self._laws = torch.randn(vocab_size, vocab_size, generator=self._generator).mul(1.5).softmax(-1)

    def propose(self, requests):
        return [self._propose(request) for request in requests]

    def forget(self, request_ids):
        pass

    def _propose(self, request):
        token, tokens, rows = int(request.token_ids[-1]), [], []
        wanted = 1 + int(torch.randint(0, request.max_tokens, (1,), generator=self._generator))
        for _ in range(wanted):
            rows.append(self._laws[token])
            token = int(torch.multinomial(rows[-1], 1, generator=self._generator))
            tokens.append(token)
        SENT.setdefault(request.request_id, []).append((tokens, torch.stack(rows)))
        return Proposal(tokens, torch.stack(rows))
