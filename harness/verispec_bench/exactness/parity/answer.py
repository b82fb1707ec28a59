"""What is asked of a server, and what is kept of its answer."""

from dataclasses import dataclass, field
from typing import Any

from verispec_bench.exactness.parity.corpus import GreedyPrompt
from verispec_bench.exactness.posting import Json, RequestFailed, drafting_counts

Row = list[tuple[int, float, str]]
"""The likeliest tokens at one position: id, logprob (nats, of the raw logits), text ("" where it was not asked for)."""


@dataclass(frozen=True)
class Answer:
    """A greedy answer, or a given one that was scored.

    Attributes:
        prompt: id of its prompt.
        prompt_token_ids: the prompt as the server tokenised it.
        token_ids: the answer, its end token included.
        text, finish_reason, stop_reason, completion_tokens: as the server gives them.
        rounds, draft_tokens, accepted_tokens: steps that verified a draft, and what they drafted and accepted.
        rows: of each token, if asked for.

    """

    prompt: str
    prompt_token_ids: list[int]
    token_ids: list[int]
    text: str = ""
    finish_reason: str | None = None
    stop_reason: int | str | None = None
    completion_tokens: int | None = None
    rounds: int = 0
    draft_tokens: int = 0
    accepted_tokens: int = 0
    rows: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class Ask:
    """One request.

    Attributes:
        prompt: id of its prompt.
        path, body: of the request.
        scored: how many tokens at the end of the prompt are an answer to be scored; 0 asks for an answer.

    """

    prompt: str
    path: str
    body: Json
    scored: int = 0

    def read(self, answer: Json) -> Answer:
        """What is kept.

        Raises:
            RequestFailed: the answer lacks what was asked for.

        """
        try:
            return self._score(answer) if self.scored else self._answer(answer)
        except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
            raise RequestFailed(f"prompt {self.prompt}: not the answer asked for: {str(answer)[:200]}") from error

    def _answer(self, answer: Json) -> Answer:
        choice = answer["choices"][0]
        chat = "message" in choice
        tops = (choice.get("logprobs") or {}).get("top_logprobs") or []
        made = Answer(
            self.prompt,
            list((answer if chat else choice)["prompt_token_ids"]),
            list(choice["token_ids"]),
            (choice["message"]["content"] or "") if chat else choice["text"],
            choice["finish_reason"],
            choice.get("stop_reason"),
            (answer.get("usage") or {}).get("completion_tokens"),
            *drafting_counts(answer),
            rows=[[(int(name.rpartition(":")[2]), value, "") for name, value in top.items()] for top in tops],
        )
        if "logprobs" in self.body and len(made.rows) != len(made.token_ids):
            raise ValueError
        return made

    def _score(self, answer: Json) -> Answer:
        token_ids = self.body["prompt"]
        rows = [_scored_row(position) for position in answer["choices"][0]["prompt_logprobs"][-self.scored :]]
        if len(rows) != self.scored:
            raise ValueError
        return Answer(self.prompt, token_ids[: -self.scored], token_ids[-self.scored :], rows=rows)


def _scored_row(position: dict[str, Any]) -> Row:
    return [(int(id_), entry["logprob"], entry["decoded_token"] or "") for id_, entry in position.items()]


def plain(prompt: GreedyPrompt, tokens: int) -> Ask:
    """The prompt as a user asks it."""
    body = {"max_tokens": tokens, "temperature": 0, "return_token_ids": True, **prompt.options}
    if prompt.chat:
        return Ask(prompt.id, "/v1/chat/completions", {"messages": [{"role": "user", "content": prompt.text}]} | body)
    return Ask(prompt.id, "/v1/completions", {"prompt": prompt.text} | body)


def with_rows(answered: Answer, tokens: int, top: int) -> Ask:
    """The prompt of an answer once more, without its options, with the rows that decide each token."""
    return Ask(
        answered.prompt,
        "/v1/completions",
        {
            "prompt": answered.prompt_token_ids,
            "max_tokens": tokens,
            "temperature": 0,
            "return_token_ids": True,
            "logprobs": top,
            "return_tokens_as_token_ids": True,
        },
    )


def scored(prompt: str, prompt_token_ids: list[int], token_ids: list[int], count: int, top: int) -> Ask:
    """One pass over prompt and answer; of its rows the last `count` are kept."""
    body = {"prompt": prompt_token_ids + token_ids, "max_tokens": 1, "temperature": 0, "prompt_logprobs": top}
    return Ask(prompt, "/v1/completions", body, scored=count)
