"""Answers as bytes, in vLLM's form: the events of a stream, and the body of an answer that is not streamed."""

import json
from dataclasses import dataclass
from typing import Any

from verispec_bench.mock.body import Ask
from verispec_bench.mock.tokens import detokenize

DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True)
class Answer:
    """A whole answer.

    Attributes:
        id: the request's.
        created: Unix time in seconds.
        token_ids: all of its tokens.
        tokens_per_chunk: how many of them a chunk brings; the last may bring fewer.
        finish_reason: "length", or "stop" where the request named no limit.

    """

    id: str
    created: int
    token_ids: list[int]
    tokens_per_chunk: int
    finish_reason: str


class Encoder:
    """Encodes the answer to one request; what its events share is encoded once."""

    def __init__(self, ask: Ask, answer: Answer, model: str) -> None:
        self._ask = ask
        self._answer = answer
        self._model = model
        self.num_tokens = len(answer.token_ids)
        self.finish_reason = answer.finish_reason
        shared = json.dumps(self._shared("chat.completion.chunk" if ask.chat else "text_completion"))
        self._head = f'data: {shared[:-1]}, "choices": ['

    def chunk(self, index: int) -> tuple[bytes, int]:
        """A chunk with all that is written at its time, and its number of tokens.

        A chat's first has the event with the role before it; the last is followed by the usage and the stream's end.
        """
        start = index * self._answer.tokens_per_chunk
        end = min(start + self._answer.tokens_per_chunk, self.num_tokens)
        token_ids, last = self._answer.token_ids[start:end], end == self.num_tokens
        text, finish = detokenize(token_ids), f'"{self.finish_reason}"' if last else "null"
        content = f'"delta": {{"content": "{text}"}}' if self._ask.chat else f'"text": "{text}"'
        events = self._event(content, finish, str(token_ids), end)
        if start == 0 and self._ask.chat:
            events = self._event('"delta": {"role": "assistant", "content": ""}', "null", "null", 0) + events
        if last and self._ask.include_usage:
            events += f'{self._head}], "usage": {self._usage(end)}}}\n\n'
        return events.encode() + (DONE if last else b""), end - start

    def whole(self) -> bytes:
        """The body of an answer that is not streamed."""
        token_ids = self._answer.token_ids
        text = detokenize(token_ids)
        choice: dict[str, Any] = {"index": 0, "logprobs": None, "finish_reason": self.finish_reason}
        choice |= {"message": {"role": "assistant", "content": text}} if self._ask.chat else {"text": text}
        if self._ask.return_token_ids:
            choice["token_ids"] = token_ids
        shared = self._shared("chat.completion" if self._ask.chat else "text_completion")
        return json.dumps({**shared, "choices": [choice], "usage": json.loads(self._usage(len(token_ids)))}).encode()

    def _event(self, content: str, finish: str, token_ids: str, total: int) -> str:
        """One event from its parts in JSON; the mock's words need no escapes."""
        tokens = f', "token_ids": {token_ids}' if self._ask.return_token_ids else ""
        usage = f', "usage": {self._usage(total)}' if self._ask.continuous_usage else ""
        choice = f'{{"index": 0, {content}, "logprobs": null, "finish_reason": {finish}{tokens}}}'
        return f"{self._head}{choice}]{usage}}}\n\n"

    def _shared(self, kind: str) -> dict[str, Any]:
        return {"id": self._answer.id, "object": kind, "created": self._answer.created, "model": self._model}

    def _usage(self, total: int) -> str:
        prompt = len(self._ask.prompt_ids)
        return f'{{"prompt_tokens": {prompt}, "total_tokens": {prompt + total}, "completion_tokens": {total}}}'


def error_body(message: str, status: int) -> dict[str, Any]:
    """An error in vLLM's form."""
    return {"error": {"message": message, "type": "MockError", "param": None, "code": status}}


def error_event(message: str) -> bytes:
    """An error inside a stream, and the stream's end."""
    return f"data: {json.dumps(error_body(message, 500))}\n\n".encode() + DONE
