"""Texts to token ids by the server itself (vLLM's POST /tokenize): the harness has no tokenizer."""

from collections.abc import Sequence

import aiohttp

from verispec_bench.errors import InfrastructureFailed


async def tokenise(session: aiohttp.ClientSession, base_url: str, model: str, texts: Sequence[str]) -> list[list[int]]:
    """The ids of each text, with the special tokens that the tokenizer itself puts around a prompt.

    Raises:
        InfrastructureFailed: the server does not answer, or not with ids.

    """
    ids: list[list[int]] = []
    url = f"{base_url}/tokenize"
    for text in texts:
        try:
            async with session.post(url, json={"model": model, "prompt": text}) as response:
                if response.status != 200:
                    raise InfrastructureFailed(f"{url}: http {response.status}: {(await response.text())[:200]}")
                ids.append([int(token) for token in (await response.json())["tokens"]])
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise InfrastructureFailed(f"{url}: no answer: {type(error).__name__}: {error}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise InfrastructureFailed(f"{url}: answers with no list of token ids: {error}") from error
    return ids
