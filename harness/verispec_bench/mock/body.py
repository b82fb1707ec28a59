"""What a request body asks for."""

from dataclasses import dataclass
from typing import Any

from verispec_bench.mock.tokens import tokenize

LARGEST_ID = 2**31 - 1
LONGEST_ANSWER = 1_000_000


class BadRequest(Exception):
    """HTTP 400 or 404, with the reason."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Ask:
    """One request.

    Attributes:
        chat: /v1/chat/completions, else /v1/completions.
        prompt_ids: the prompt's tokens.
        max_tokens: its limit; None: it names none.
        stream, include_usage, continuous_usage, return_token_ids: what it wants to see.

    """

    chat: bool
    prompt_ids: list[int]
    max_tokens: int | None
    stream: bool
    include_usage: bool
    continuous_usage: bool
    return_token_ids: bool


def read_body(body: Any, chat: bool, model: str) -> Ask:
    """Check a parsed body.

    Raises:
        BadRequest: it is not one that the mock can answer.

    """
    if not isinstance(body, dict):
        raise BadRequest("the body must be a JSON object")
    if body.get("model", model) != model:
        raise BadRequest(f"the model {body['model']!r} does not exist; served: {model}", status=404)
    if body.get("n", 1) != 1:
        raise BadRequest("n must be 1")
    max_tokens = next((body[key] for key in ("max_completion_tokens", "max_tokens") if body.get(key) is not None), None)
    if max_tokens is not None and (type(max_tokens) is not int or not 1 <= max_tokens <= LONGEST_ANSWER):
        raise BadRequest(f"max_tokens must be a whole number from 1 to {LONGEST_ANSWER}")
    options = body.get("stream_options") or {}
    if not isinstance(options, dict):
        raise BadRequest("stream_options must be an object")
    return Ask(
        chat=chat,
        prompt_ids=_chat_ids(body.get("messages")) if chat else prompt_ids(body.get("prompt")),
        max_tokens=max_tokens,
        stream=bool(body.get("stream")),
        include_usage=bool(options.get("include_usage")),
        continuous_usage=bool(options.get("include_usage") and options.get("continuous_usage_stats")),
        return_token_ids=bool(body.get("return_token_ids")),
    )


def prompt_ids(prompt: Any) -> list[int]:
    """Tokens of a prompt of /v1/completions: a text, or token ids; a list of one prompt is that prompt.

    Raises:
        BadRequest: neither.

    """
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], (str, list)):
        prompt = prompt[0]
    if isinstance(prompt, str):
        return tokenize(prompt)
    if isinstance(prompt, list) and prompt and all(type(i) is int and 0 <= i <= LARGEST_ID for i in prompt):
        return prompt
    raise BadRequest("prompt must be one text or one list of token ids")


def _chat_ids(messages: Any) -> list[int]:
    if not isinstance(messages, list) or not messages:
        raise BadRequest("messages must be a list of at least one message")
    return [token_id for message in messages for token_id in tokenize(_content(message))]


def _content(message: Any) -> str:
    """The text of a message; of its text parts if it has parts."""
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if isinstance(content, str):
        return content
    raise BadRequest("each message must have a content")
