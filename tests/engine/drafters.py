"""Drafters for engine tests, named in the settings by import path."""

import torch

from verispec.coupling.keyed import Stream, keys, uniform
from verispec.coupling.sampling import draw
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


class Bigram:
    """Draws each token from the smoothed bigram counts of the request's own history: a true q."""

    def __init__(self, vocab_size: int, seed: int = 0) -> None:
        self._vocab_size = vocab_size
        self._generator = torch.Generator().manual_seed(seed)
        self.send_law = True

    def propose(self, requests):
        return [self._propose(request) for request in requests]

    def forget(self, request_ids):
        pass

    def _propose(self, request):
        history, tokens, rows = torch.from_numpy(request.token_ids).long(), [], []
        counts = torch.full((self._vocab_size, self._vocab_size), 0.2)
        counts.index_put_((history[:-1], history[1:]), torch.tensor(1.0), accumulate=True)
        laws, token = counts / counts.sum(-1, keepdim=True), int(history[-1])
        if request.seed is None:
            uniforms = torch.rand(request.max_tokens, dtype=torch.float64, generator=self._generator)
        else:
            key = keys(torch.tensor(request.seed), torch.tensor(len(history)), Stream.DRAFT)
            uniforms = uniform(keys(key, torch.arange(request.max_tokens), Stream.DRAFT))
        for number in uniforms:
            rows.append(laws[token])
            token = int(draw(rows[-1].unsqueeze(0), number.unsqueeze(0)))
            tokens.append(token)
        return Proposal(tokens, torch.stack(rows) if self.send_law else None)
