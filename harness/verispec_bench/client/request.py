"""What is sent: the server, the sampling parameters, one request, and its bytes."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from verispec_bench.errors import UnusableInput

if TYPE_CHECKING:  # client processes get the bytes only, and start faster without the workloads
    from verispec_bench.workload.prompt import Prompt

Endpoint = Literal["chat", "completions"]
PATHS: dict[Endpoint, str] = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}


@dataclass(frozen=True)
class Target:
    """Where requests go, and in which form.

    Attributes:
        base_url: the server, without /v1.
        model: the served model's id.
        is_vllm: ask for vLLM's extensions (token ids, running usage).
        endpoint: "chat", or "completions", which continue the prompt's text; token ids always go to completions.
        stream: ask for server-sent events; else for one JSON object.

    """

    base_url: str
    model: str
    is_vllm: bool = True
    endpoint: Endpoint = "chat"
    stream: bool = True


@dataclass(frozen=True)
class Sampling:
    """What each request asks for; `max_tokens` gives way to a prompt's own `output_len`."""

    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = -1
    ignore_eos: bool = False


@dataclass(frozen=True)
class Call:
    """A request as it goes on the wire.

    Attributes:
        prompt_id: which prompt.
        path: after the server's address.
        body: JSON.
        sent_tokens: of a prompt that goes as token ids; None: as text.
        max_tokens: how many it asks for.
        due_s: seconds after the start of the run; None: as soon as there is a free slot.
        stream: its answer is a stream of events.

    """

    prompt_id: str
    path: str
    body: bytes
    sent_tokens: int | None
    max_tokens: int
    due_s: float | None
    stream: bool


@dataclass(frozen=True)
class Request:
    """What is sent, and when.

    Attributes:
        prompt: what is asked.
        sampling: how it is to be answered.
        due_s: seconds after the start of the run; None in a closed loop: as soon as there is a free slot.

    """

    prompt: "Prompt"
    sampling: Sampling
    due_s: float | None = None

    def call(self, target: Target) -> Call:
        """Its bytes for this server.

        Raises:
            UnusableInput: a chat is to be continued as plain text.

        """
        endpoint: Endpoint = "completions" if self.prompt.token_ids else target.endpoint
        body = {"model": target.model, **self._asked(endpoint), **self._sampling(target)}
        path = PATHS[endpoint]
        sent_tokens = len(self.prompt.token_ids) or None
        encoded = json.dumps(body).encode()
        return Call(self.prompt.id, path, encoded, sent_tokens, self._max_tokens, self.due_s, target.stream)

    @property
    def _max_tokens(self) -> int:
        return self.sampling.max_tokens if self.prompt.output_len is None else self.prompt.output_len

    def _asked(self, endpoint: Endpoint) -> dict[str, Any]:
        prompt = self.prompt
        if endpoint == "chat":
            history = [{"role": message.role, "content": message.content} for message in prompt.history]
            return {"messages": [*history, {"role": "user", "content": prompt.text}]}
        if prompt.history and not prompt.token_ids:
            raise UnusableInput(f"prompt {prompt.id} is a chat of several turns: it needs the endpoint chat")
        return {"prompt": list(prompt.token_ids) or prompt.text}

    def _sampling(self, target: Target) -> dict[str, Any]:
        body: dict[str, Any] = {
            "max_tokens": self._max_tokens,
            "temperature": self.sampling.temperature,
            "top_p": self.sampling.top_p,
            "stream": target.stream,
        }
        if target.stream:
            body["stream_options"] = {"include_usage": True}
        if target.is_vllm:
            body |= {"return_token_ids": True, "ignore_eos": self.sampling.ignore_eos, "top_k": self.sampling.top_k}
            if target.stream:
                body["stream_options"]["continuous_usage_stats"] = True
        return body
