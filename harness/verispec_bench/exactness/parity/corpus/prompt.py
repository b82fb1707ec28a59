"""One prompt of the corpus."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class GreedyPrompt:
    """A prompt with its request options.

    Attributes:
        kind: which kind of text.
        number: from 0, within its kind.
        text: the user's message, or the text to be continued.
        chat: a message under the model's chat template; else plain text that is continued.
        options: of the request, {"stop": ["\\n"]}.

    """

    kind: str
    number: int
    text: str
    chat: bool = True
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """Stable name within the corpus."""
        return f"{self.kind}-{self.number:03}"


def of_kind(kind: str, messages: list[str], texts: list[str]) -> list[GreedyPrompt]:
    """Messages under the chat template, then texts that are continued as they are."""
    asked = [(message, True) for message in messages] + [(text, False) for text in texts]
    return [GreedyPrompt(kind, number, text, chat) for number, (text, chat) in enumerate(asked)]
