"""Short completions of few prompts, many at a time: token ids, and what was drafted for them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from verispec_bench.client import Target
from verispec_bench.exactness.posting import Json, RequestFailed, drafting_counts, post_all
from verispec_bench.scenario import SamplingParameters


@dataclass(frozen=True)
class Completion:
    """One completion.

    Attributes:
        prompt: index of its prompt.
        token_ids: its tokens.
        rounds: steps that verified a draft, as vLLM counts them (a prompt whose last token alone is outside the prefix
            cache is padded with drafts of -1, and counts as a round); 0 on a server that does not speculate.
        draft_tokens, accepted_tokens: in these rounds, some past the completion's end.

    """

    prompt: int
    token_ids: list[int]
    rounds: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0

    @property
    def drafted_positions(self) -> int:
        """Tokens after the first that came from rounds with a draft: kept drafts, repairs, bonus tokens."""
        return min(len(self.token_ids) - 1, self.rounds + self.accepted_tokens)


async def complete(
    target: Target,
    prompts: Sequence[str],
    count: int,
    sampling: SamplingParameters,
    tokens: int,
    *,
    concurrency: int,
    timeout_s: float,
    on_done: Callable[[], None] = lambda: None,
) -> list[Completion]:
    """Continue the prompts in turn until there are `count` completions of exactly `tokens` tokens.

    Raises:
        RequestFailed: one failed; the others are given up.

    """
    body: Json = {
        "max_tokens": tokens,
        **sampling.model_dump(),
        "ignore_eos": True,  # the end of a text is a token like any other here: its probability is compared as well
        "return_token_ids": True,
    }

    def read(index: int, answer: Json) -> Completion:
        return _completion(index % len(prompts), answer, tokens)

    requests = [("/v1/completions", body | {"prompt": prompts[index % len(prompts)]}) for index in range(count)]
    return await post_all(target, requests, read, concurrency=concurrency, timeout_s=timeout_s, on_done=on_done)


def _completion(prompt: int, answer: Json, tokens: int) -> Completion:
    try:
        token_ids = answer["choices"][0]["token_ids"]
        counts = drafting_counts(answer)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise RequestFailed(f"the answer is no completion: {str(answer)[:200]}") from error
    if not isinstance(token_ids, list) or len(token_ids) != tokens:
        raise RequestFailed(f"asked for {tokens} tokens with their ids, the answer holds {str(token_ids)[:100]}")
    return Completion(prompt, token_ids, *counts)
