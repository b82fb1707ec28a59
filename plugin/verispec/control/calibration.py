"""Step costs that were measured before, on the same machine with the same model: known from the first step on."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator


class Costs(BaseModel):
    """What a step costs: seconds by its tokens, and what is added to them.

    Attributes:
        tokens: scheduled tokens, ascending.
        seconds: of a step with so many.
        steps: how many such steps were measured, older ones counting less.
        kv_token_s, request_s, drafts_s, prompt_token_s: seconds for each token in the KV caches, for each request, for
            having any drafts at all, and for each token that is read of a prompt (more than any token; often less
            than nothing, for it is not sampled at).

    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens: list[int] = Field(min_length=1)
    seconds: list[float]
    steps: list[float]
    kv_token_s: float
    request_s: float
    drafts_s: float
    prompt_token_s: float = 0.0

    @model_validator(mode="after")
    def _is_a_table(self) -> "Costs":
        if not len(self.tokens) == len(self.seconds) == len(self.steps):
            raise ValueError("tokens, seconds and steps differ in length")
        if sorted(set(self.tokens)) != self.tokens or self.tokens[0] < 1:
            raise ValueError("tokens are not ascending from 1")
        if not all(0 < seconds < 3600 for seconds in self.seconds):
            raise ValueError("seconds are not those of steps")
        return self


class Calibration(BaseModel):
    """Costs, and of what: a file of `verispec calibrate`.

    Attributes:
        identity: model, numerics, software and machine, as the engine tells them.
        costs: the table.

    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    identity: dict[str, str]
    costs: Costs

    @classmethod
    def read(cls, path: str) -> "Calibration":
        """From a file.

        Raises:
            ValueError: it cannot be read, or is no calibration.

        """
        try:
            return cls.model_validate_json(Path(path).expanduser().read_bytes())
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror or error}") from error
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise ValueError(f"{path} is no file of `verispec calibrate`: {where or 'it'}: {first['msg']}") from error

    def differs(self, identity: Mapping[str, str]) -> list[str]:
        """In what an engine differs from the one that was measured, each with both values."""
        return [
            f"{key} {self.identity.get(key, 'not said')!r}, here {identity.get(key, 'not said')!r}"
            for key in sorted(self.identity.keys() | identity.keys())
            if self.identity.get(key) != identity.get(key)
        ]
