"""What steps and drafts cost in a replay."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from verispec_bench.errors import UnusableInput

Floats = NDArray[np.float64]
Numbers = Floats | float


class Cost(BaseModel):
    """Seconds = kv_s · (tokens in the KV caches) + token_s · tokens + step_s + verify_share · (the target's pass)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kv_s: float = Field(default=0.0, ge=0)
    token_s: float = Field(default=0.0, ge=0)
    step_s: float = Field(default=0.0, ge=0)
    verify_share: float = Field(default=0.0, ge=0)

    def seconds(self, kv: Numbers, tokens: Numbers, verify_s: Numbers = 0.0) -> Floats:
        """Of steps with so much in the caches, and so many tokens."""
        return np.asarray(self.kv_s * kv + self.token_s * tokens + self.step_s + self.verify_share * verify_s)


class Bill(BaseModel):
    """All costs of a machine and its models.

    Attributes:
        source: where they were measured.
        target: a pass of the target.
        prompt_token_s: of a token of a prompt, all told; None: as of any token, and what it then has in the cache.
        overhead_s: all else in a step.
        drafters: what drafting adds to a step, by the drafter's name in the traces; its tokens are those of the step.

    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    target: Cost
    prompt_token_s: float | None = Field(default=None, ge=0)
    overhead_s: float = Field(ge=0)
    drafters: dict[str, Cost]

    def reading_s(self, tokens: Numbers) -> Floats:
        """Seconds of a step that reads so many tokens of prompts."""
        if self.prompt_token_s is None:
            return self.target.seconds(tokens, tokens) + self.overhead_s
        return self.target.seconds(0.0, 0.0) + self.prompt_token_s * tokens + self.overhead_s

    @classmethod
    def read(cls, path: Path) -> "Bill":
        """From a JSON file.

        Raises:
            UnusableInput: it cannot be read, or is none.

        """
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise UnusableInput(f"{path}: cannot be read: {error.strerror or error}") from None
        except ValidationError as error:
            first: Any = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise UnusableInput(f"{path}: is no bill of a replay: {where or 'it'}: {first['msg']}") from None


PUBLISHED = Bill(
    source="Llama-3.1-8B on one H100, fitted in arXiv 2601.11580",
    target=Cost(kv_s=3.926e-8, token_s=2.101e-5, step_s=5.886e-3),
    overhead_s=1.207e-3,
    drafters={
        "ngram": Cost(verify_share=0.005875),
        "eagle": Cost(kv_s=2.378e-9, token_s=8.41e-7, step_s=2.135e-3),
    },
)
